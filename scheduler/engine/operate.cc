// SPDX-License-Identifier: Apache-2.0
// What people do to jobs and nodes by hand: hold, release and requeue; cordon, drain and resume.
#include "absl/strings/str_cat.h"
#include "scheduler/engine/engine_impl.h"

namespace sinew {
namespace {

std::string JobText(JobId id) { return absl::StrCat("jobs/", id.value); }

// Whether the job said that it may be run anew when a node goes away: then a drain costs it time and nothing else.
bool MayMove(const Job& job) { return job.spec.retry_on_node_fail; }

// Jobs with a task on the node that is not told to stop yet, in the order of their ids.
std::vector<JobId> RunningOn(const TransactionBuilder& tx, const ClusterState& state, NodeId node) {
  std::vector<JobId> jobs;
  if (node.value >= state.nodes().size()) return jobs;
  for (const TaskKey& key : state.usage(node).tasks) {
    const Job* job = tx.Look(key.job);
    if (!job || !HoldsResources(job->state) || job->state == JobState::kStopping) continue;
    if (jobs.empty() || jobs.back() != job->id) jobs.push_back(job->id);
  }
  return jobs;
}

absl::Status Requeue(TransactionBuilder& tx, Job& job, const std::string& why) {
  Reason reason;
  reason.code = ReasonCode::kRequeued;
  reason.detail = why;
  if (job.state == JobState::kStopping) {
    if (job.stopping_to == JobState::kPending) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(JobText(job.id), " is being stopped already"));
  }
  if (!HoldsResources(job.state)) return absl::OkStatus();  // it waits
  StopJob(tx, job, JobState::kPending, reason, "requeued; its processes are told to stop");
  return absl::OkStatus();
}

}  // namespace

Reason HeldReason(const Job& job) {
  Reason reason;
  reason.code = ReasonCode::kHeld;
  reason.detail = job.held_by;
  return reason;
}

absl::Status MayActOn(const Job* job, JobId id, uint32_t uid, bool is_operator) {
  if (job && (job->submitter.uid == uid || is_operator)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(JobText(id), " does not exist"));
}

void Engine::Impl::On(TransactionBuilder& tx, const JobControlEvent& event) {
  using Verb = JobControlEvent::Verb;
  const auto answer = [&](absl::Status status) { tx.Answer(event.token, std::move(status), event.job); };
  const Job* found = tx.Look(event.job);
  if (const auto status = MayActOn(found, event.job, event.caller_uid, event.caller_is_operator); !status.ok())
    return answer(status);
  if (!event.request_id.empty() && requests.contains({event.caller_uid, event.request_id}))
    return answer(absl::OkStatus());
  const std::string name = JobText(event.job), state_name(Name(found->state));
  if (IsEnd(found->state))
    return answer(absl::FailedPreconditionError(absl::StrCat(name, " has already ended: ", state_name)));
  const bool comes_back = found->state == JobState::kPending ||
                          (found->state == JobState::kStopping && found->stopping_to == JobState::kPending);
  const auto hold = [&](Job& job) {
    if (job.held && (job.held_by_operator || !event.caller_is_operator)) return;
    job.held = true;
    job.held_by = event.caller;
    job.held_by_operator = event.caller_is_operator && job.submitter.uid != event.caller_uid;
    if (job.state == JobState::kPending) job.reasons = {HeldReason(job)};
    tx.Log(job, "held", HeldReason(job));
  };
  if (event.verb == Verb::kHold) {
    if (!comes_back) {
      return answer(absl::FailedPreconditionError(absl::StrCat(
          name, " is ", state_name, ", and only what waits can be held; `sinew requeue --hold` stops it first")));
    }
    hold(tx.Edit(event.job));
  } else if (event.verb == Verb::kRelease) {
    if (found->held && found->held_by_operator && !event.caller_is_operator)
      return answer(absl::PermissionDeniedError(absl::StrCat(name, " was held by ", found->held_by,
                                                             ", an operator; ask there")));
    if (found->held) {
      Job& job = tx.Edit(event.job);
      job.held = job.held_by_operator = false;
      job.held_by.clear();
      Reason reason;
      reason.code = ReasonCode::kNotYetConsidered;
      if (job.state == JobState::kPending) job.reasons = {reason};
      tx.Log(job, absl::StrCat("released by ", event.caller), reason);
    }
  } else {
    Job& job = tx.Edit(event.job);
    if (const absl::Status status = Requeue(tx, job, absl::StrCat("by ", event.caller)); !status.ok())
      return answer(status);
    if (event.hold) hold(job);
  }
  if (!event.request_id.empty())
    tx.out().requests.push_back({event.caller_uid, event.request_id, event.job, tx.now().wall_ns});
  answer(absl::OkStatus());
}

void Engine::Impl::On(TransactionBuilder& tx, const NodeControlEvent& event) {
  using Verb = NodeControlEvent::Verb;
  const NodePtr known = tx.LookNode(event.node);
  if (!known) {
    tx.Answer(event.token, absl::NotFoundError(absl::StrCat("there is no node ", event.node)), {});
    return;
  }
  Node node = *known;
  if (event.verb == Verb::kResume) {
    node.cordon = {};
  } else {
    Cordon& cordon = node.cordon;
    cordon.on = true;
    if (!event.reason.empty()) cordon.reason = event.reason;
    cordon.by = event.caller;
    if (cordon.since_wall_ns == 0) cordon.since_wall_ns = tx.now().wall_ns;
    if (event.verb == Verb::kDrain) {
      std::string stay;
      int count = 0;
      for (const JobId id : RunningOn(tx, state, node.id)) {
        if (!event.deadline_ns || event.force || MayMove(*tx.Look(id))) continue;
        if (++count <= 8) absl::StrAppend(&stay, stay.empty() ? "" : ", ", JobText(id));
      }
      if (count > 8) absl::StrAppend(&stay, " and ", count - 8, " more");
      if (count > 0) {
        tx.Answer(event.token,
                  absl::FailedPreconditionError(absl::StrCat(
                      stay, " on ", node.name, " may not run again (no retry on node_fail) and would fail at the deadline; "
                      "--force lets them, and without a deadline the drain waits for their end")),
                  {});
        return;
      }
      cordon.draining = true;
      cordon.force = event.force;
      cordon.deadline_wall_ns = event.deadline_ns ? std::max<int64_t>(1, tx.now().wall_ns + *event.deadline_ns) : 0;
    }
  }
  if (!(node == *known)) tx.Put(std::move(node));
  tx.Answer(event.token, absl::OkStatus(), {});
}

void Engine::Impl::SetDrain(const Node& node, Now now) {
  std::erase_if(drains, [&](const auto& entry) { return entry.second == node.id; });
  if (!node.cordon.draining || node.cordon.deadline_wall_ns == 0) return;
  drains.insert({now.mono_ns + std::max<int64_t>(1, node.cordon.deadline_wall_ns - now.wall_ns), node.id});
}

void Engine::Impl::FireDrains(TransactionBuilder& tx) {
  for (const auto& [at, id] : drains) {
    if (at > tx.now().mono_ns) break;
    const NodePtr node = tx.LookNode(id);
    for (const JobId job_id : RunningOn(tx, state, id)) {
      Job& job = tx.Edit(job_id);
      const std::string why = absl::StrCat(node->name, " is drained: ", node->cordon.reason);
      if (MayMove(job)) {
        Requeue(tx, job, why).IgnoreError();
        continue;
      }
      if (!node->cordon.force) continue;
      Reason reason;
      reason.code = ReasonCode::kNodeDrained;
      reason.node = node->name;
      reason.detail = node->cordon.reason;
      StopJob(tx, job, JobState::kFailed, reason, why);
    }
  }
}

}  // namespace sinew
