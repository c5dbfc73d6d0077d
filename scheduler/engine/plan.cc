// SPDX-License-Identifier: Apache-2.0
// One pass: run the pipeline, check its draft, turn what is sound into a transaction.
#include <cassert>

#include "policies/place/fit.h"
#include "scheduler/engine/engine_impl.h"
#include "scheduler/engine/plan_check.h"

namespace sinew {
namespace {

// Records that the engine has no mechanism for yet are refused by name.
const char* WithoutMechanism(const JobDecision& decision) {
  if (std::holds_alternative<Suspend>(decision)) return "suspend";
  if (std::holds_alternative<CounterOffer>(decision)) return "counter-offer";
  if (std::holds_alternative<Shrink>(decision)) return "shrink";
  return nullptr;
}

}  // namespace

bool SatisfiableIn(const ClusterState& state, const JobSpec& spec, Reason* reason) {
  std::vector<Room> rooms;
  for (const NodePtr& node : state.nodes()) rooms.push_back(EmptyRoom(node));
  if (rooms.empty()) {
    reason->code = ReasonCode::kNoNodes;
    return true;
  }
  std::vector<Room> scratch = rooms;
  if (Fit(scratch, spec, spec.min_workers, Preference::kPack)) return true;
  *reason = WhyNot(rooms, spec, spec.min_workers)[0];
  reason->detail = reason->code == ReasonCode::kInsufficientDevices  ? "devices"
                   : reason->code == ReasonCode::kInsufficientMemory ? "memory"
                                                                     : "cpus";
  reason->code = ReasonCode::kNeverSatisfiable;
  return false;
}

Transaction Engine::Plan(Now now) {
  Impl& e = *impl_;
  assert(!e.outstanding);
  e.outstanding = true;
  TransactionBuilder tx(e.state, now, e.revision + 1);
  e.woken_until = now.mono_ns;
  if (!e.wake_ups.empty() && *e.wake_ups.begin() <= now.mono_ns) e.pipeline->NoteTimer();

  Pipeline::Result result = e.pipeline->Run(View(e.state, e.order, now, e.revision, e.options.seed, e.rejections));
  PlanCheck check(e.state);
  const auto reject = [&](JobId id, std::string why) { e.next_rejections.push_back({id, std::move(why)}); };
  size_t starts = 0;
  for (const auto& [id, decision] : result.draft.jobs()) {
    const Job* job = tx.Look(id);
    if (const auto* run = std::get_if<RunProposal>(&decision)) {
      if (starts >= e.options.max_starts_per_pass) {
        e.next_wake_ups.push_back(now.mono_ns);
        reject(id, "more starts than one pass may make");
        continue;
      }
      if (const absl::Status status = check.Take(job, *run); !status.ok()) {
        reject(id, std::string(status.message()));
        continue;
      }
      StartJob(tx, tx.Edit(id), *run);
      ++starts;
    } else if (const auto* wait = std::get_if<Wait>(&decision)) {
      if (!job || !WaitsForPlace(*job) || wait->reasons.empty() || job->reasons == wait->reasons) continue;
      Job& edited = tx.Edit(id);
      const bool news = edited.reasons.empty() || edited.reasons[0].code != wait->reasons[0].code;
      edited.reasons = wait->reasons;
      if (news) tx.Log(edited, "waits", wait->reasons[0]);
    } else if (const auto* refuse = std::get_if<Reject>(&decision)) {
      if (!job || job->state != JobState::kPending) continue;
      Job& edited = tx.Edit(id);
      SetState(edited, JobState::kRejected, now);
      edited.reasons = {refuse->reason};
      edited.ended_wall_ns = now.wall_ns;
      edited.exit_code = 1;
      tx.Log(edited, "rejected", refuse->reason);
    } else if (const char* what = WithoutMechanism(decision)) {
      reject(id, std::string(what) + ": no mechanism yet");
    }
  }
  const Draft& draft = result.draft;
  if (!draft.devices().empty() || !draft.nodes().empty() || !draft.datasets().empty() || !draft.bandwidths().empty() ||
      !draft.services().empty() || !draft.reservations().empty()) {
    reject({}, "records of devices, nodes, data, services and reservations: no mechanism yet");
  }
  for (const WakeUp& wake : draft.wake_ups()) e.next_wake_ups.push_back(wake.at_mono_ns);
  tx.out().questions = draft.questions();
  tx.out().stage_states = result.states;
  tx.out().plan_fell_back = result.fell_back;
  tx.out().plan_error = result.error;
  e.planned = std::move(result);
  return tx.Finish();
}

}  // namespace sinew
