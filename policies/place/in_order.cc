// SPDX-License-Identifier: Apache-2.0
#include "policies/place/in_order.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace sinew {
namespace {

// Visits waiting jobs by key: those of the engine's index whose keys stand, merged with the keys set in this pass.
// `visit` returns false to stop.
template <typename Visit>
void InOrder(const View& view, const Draft& draft, Visit visit) {
  std::set<std::pair<OrderKey, JobId>> fresh;
  for (const auto& [id, key] : draft.order_keys()) fresh.insert({key, id});
  auto old = view.order().ranked().begin();
  const auto old_end = view.order().ranked().end();
  auto changed = fresh.begin();
  while (old != old_end || changed != fresh.end()) {
    if (old != old_end && draft.order_keys().contains(old->second)) {
      ++old;
      continue;
    }
    const bool take_old = changed == fresh.end() || (old != old_end && *old < *changed);
    const JobId id = take_old ? (old++)->second : (changed++)->second;
    if (!visit(id)) return;
  }
}

Reason CodeOnly(ReasonCode code) {
  Reason reason;
  reason.code = code;
  return reason;
}

}  // namespace

absl::Status PlaceInOrder::Run(const View& view, const Changes& changes, const Answers& answers, StageState& state,
                               Draft& draft) const {
  const ClusterState& cluster = view.cluster();
  std::vector<Room> rooms;
  std::set<std::string> open_pools;
  for (const NodePtr& node : cluster.nodes()) {
    if (!TakesWork(*node)) continue;
    rooms.push_back(RoomNow(node, cluster.usage(node->id)));
    open_pools.insert(node->pool);
  }
  const bool any_up = !rooms.empty();
  int starts = 0;

  const auto wait = [&](const Job& job, std::vector<Reason> reasons) {
    if (job.reasons != reasons) {
      draft.Decide(job.id, Wait{.reasons = std::move(reasons)});
    }
  };
  std::set<JobId> placed;
  InOrder(view, draft, [&](JobId id) {
    const JobPtr job = cluster.FindJob(id);
    if (!job || job->state != JobState::kPending) return true;
    const JobSpec& spec = job->spec;
    int32_t workers = spec.max_workers;
    if (const JobDecision* decision = draft.Find(id)) {
      const auto* proposal = std::get_if<RunProposal>(decision);
      if (!proposal) return true;  // an earlier stage decided otherwise
      if (proposal->workers > 0) workers = proposal->workers;
    }
    if (any_up && open_pools.empty()) return false;
    const bool blocked = any_up && std::none_of(spec.pools.begin(), spec.pools.end(), [&](const std::string& pool) {
      return open_pools.contains(pool);
    }) && std::any_of(rooms.begin(), rooms.end(), [&](const Room& r) { return PoolFits(spec, *r.node); });
    if (blocked) return true;

    std::vector<Room> usable;
    if (open_pools.size() > 0 && spec.pools.size() > 1) {
      for (const Room& room : rooms) {
        if (open_pools.contains(room.node->pool)) usable.push_back(room);
      }
    }
    std::vector<Room>& candidates = usable.empty() ? rooms : usable;
    if (auto fitted = Fit(candidates, spec, workers, preference_)) {
      if (!usable.empty()) {
        for (Room& room : rooms) {
          for (Room& used : usable) {
            if (used.node->id == room.node->id) room = std::move(used);
          }
        }
      }
      RunProposal proposal;
      proposal.workers = workers;
      proposal.device_alternative = fitted->device_alternative;
      proposal.tasks = std::move(fitted->tasks);
      draft.Decide(id, std::move(proposal));
      placed.insert(id);
      if (++starts >= kMaxStarts) {
        draft.Add(WakeUp{.at_mono_ns = view.now().mono_ns, .tag = "more to place"});
        return false;
      }
      return true;
    }

    std::vector<Room> when_empty;
    for (const Room& room : rooms) when_empty.push_back(EmptyRoom(room.node));
    if (Fit(when_empty, spec, workers, preference_)) {
      wait(*job, WhyNot(rooms, spec, workers));
      for (const std::string& pool : spec.pools) open_pools.erase(pool);
      return true;
    }
    Reason reason = CodeOnly(ReasonCode::kNoNodes);
    if (!cluster.nodes().empty()) {
      reason.code = ReasonCode::kNodesUnavailable;
      for (const NodePtr& node : cluster.nodes()) reason.nodes_excluded += !TakesWork(*node);
    }
    wait(*job, {reason});
    return true;
  });

  // A size without a place starts nothing.
  std::vector<JobId> unplaced;
  for (const auto& [id, decision] : draft.jobs()) {
    const auto* proposal = std::get_if<RunProposal>(&decision);
    if (proposal && proposal->tasks.empty() && !proposal->within && !placed.contains(id)) unplaced.push_back(id);
  }
  for (const JobId id : unplaced) draft.Forget(id);
  return absl::OkStatus();
}

}  // namespace sinew
