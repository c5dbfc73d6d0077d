// SPDX-License-Identifier: Apache-2.0
// What each kind of event changes.
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "scheduler/engine/engine_impl.h"

namespace sinew {
namespace {

// The task a report is about, if it is of the job's current run and on the node that reports; else null: a report of an
// old run changes nothing.
Task* Current(TransactionBuilder& tx, NodeId node, const TaskKey& key) {
  const Job* job = tx.Look(key.job);
  if (!job || !HoldsResources(job->state) || job->run != key.run) return nullptr;
  for (size_t i = 0; i < job->tasks.size(); ++i) {
    if (job->tasks[i].rank == key.rank && job->tasks[i].node == node && job->tasks[i].state != TaskState::kExited) {
      return &tx.Edit(key.job).tasks[i];
    }
  }
  return nullptr;
}

}  // namespace

void Engine::Impl::ApplyEvent(TransactionBuilder& tx, const Event& event) {
  std::visit([&](const auto& e) { On(tx, e); }, event);
}

void Engine::Impl::On(TransactionBuilder& tx, const SubmitEvent& event) {
  if (!event.request_id.empty()) {
    const std::pair key(event.submitter.uid, event.request_id);
    if (auto it = requests.find(key); it != requests.end()) {
      tx.Answer(event.token, absl::OkStatus(), it->second.job);
      return;
    }
    for (const RequestRecord& record : tx.out().requests) {
      if (record.uid == key.first && record.request_id == key.second) {
        tx.Answer(event.token, absl::OkStatus(), record.job);
        return;
      }
    }
  }
  // Nodes that register in this very batch are not counted yet: with none before them the job simply waits.
  Job job;
  Reason reason;
  reason.code = ReasonCode::kNotYetConsidered;
  Reason why;
  if (!SatisfiableIn(state, event.spec, &why)) {
    tx.Answer(event.token, absl::FailedPreconditionError("no node could ever hold this job"), {}, why);
    return;
  }
  job.id = {last_job_id + 1 + created};
  ++created;
  job.submitter = event.submitter;
  job.spec = event.spec;
  job.reasons = {reason};
  job.submitted_wall_ns = tx.now().wall_ns;
  job.state_since_wall_ns = tx.now().wall_ns;
  const Job& kept = tx.Create(std::move(job));
  tx.Log(kept, "submitted", reason);
  if (!event.request_id.empty()) {
    tx.out().requests.push_back({event.submitter.uid, event.request_id, kept.id, tx.now().wall_ns});
  }
  tx.Answer(event.token, absl::OkStatus(), kept.id);
}

void Engine::Impl::On(TransactionBuilder& tx, const CancelEvent& event) {
  const Job* found = tx.Look(event.job);
  if (const auto status = MayActOn(found, event.job, event.caller_uid, event.caller_is_operator); !status.ok()) {
    tx.Answer(event.token, status, event.job);
    return;
  }
  if (!event.request_id.empty()) {
    const std::pair key(event.caller_uid, event.request_id);
    if (auto it = requests.find(key); it != requests.end()) {
      tx.Answer(event.token, absl::OkStatus(), event.job);
      return;
    }
  }
  if (IsEnd(found->state)) {
    tx.Answer(event.token,
              absl::FailedPreconditionError(absl::StrCat("jobs/", event.job.value, " has already ended: ",
                                                         std::string(Name(found->state)))),
              event.job);
    return;
  }
  Job& job = tx.Edit(event.job);
  Reason reason;
  reason.code = ReasonCode::kUserCancelled;
  if (job.state == JobState::kPending || job.state == JobState::kSuspended) {
    SetState(job, JobState::kCancelled, tx.now());
    job.reasons = {reason};
    job.ended_wall_ns = tx.now().wall_ns;
    job.exit_code = 1;
    tx.Log(job, "cancelled", reason);
  } else if (job.state != JobState::kStopping || job.stopping_to == JobState::kPending ||
             job.stopping_to == JobState::kFailed) {
    StopJob(tx, job, JobState::kCancelled, reason, "cancelled; its processes are told to stop");
  }
  if (!event.request_id.empty()) {
    tx.out().requests.push_back({event.caller_uid, event.request_id, job.id, tx.now().wall_ns});
  }
  tx.Answer(event.token, absl::OkStatus(), job.id);
}

void Engine::Impl::On(TransactionBuilder& tx, const NodeRegisteredEvent& event) {
  const NodePtr known = tx.LookNode(event.node.name);
  if (event.from_configuration && known) {
    if (known->pool != event.node.pool) {
      Node node = *known;
      node.pool = event.node.pool;
      tx.Put(std::move(node));
    }
    return;
  }
  Node node = event.node;
  node.id = known ? known->id : NodeId{tx.NextNodeId()};
  if (known) node.pool = known->pool;
  if (known) node.cordon = known->cordon;
  node.state = event.from_configuration ? NodeState::kConfigured : NodeState::kUp;
  for (size_t i = 0; i < node.devices.size(); ++i) node.devices[i].index = static_cast<int32_t>(i);
  if (!event.from_configuration) {
    node.registered_wall_ns = known && known->registered_wall_ns != 0 ? known->registered_wall_ns : tx.now().wall_ns;
  }
  const bool rebooted = known && !known->boot_id.empty() && known->boot_id != node.boot_id;
  const NodeId id = node.id;
  tx.Put(std::move(node));
  // A node that this very batch made holds nothing yet.
  if (!known || event.from_configuration || id.value >= state.nodes().size()) return;

  std::map<TaskKey, const HeldTask*> held;
  for (const HeldTask& task : event.held) held[task.key] = &task;
  const std::set<TaskKey> due = state.usage(id).tasks;
  for (const TaskKey& key : due) {
    Task* task = nullptr;
    if (auto it = held.find(key); it != held.end()) {
      if (it->second->state == HeldTask::State::kRunning) {
        running_for.emplace_back(key.job, it->second->running_for_ns);
      }
      continue;
    }
    if (!(task = Current(tx, id, key)) || task->state == TaskState::kPreparing) continue;
    Job& job = tx.Edit(key.job);
    if (task->state == TaskState::kReady && !job.spec.rendezvous && !rebooted) {
      if (job.state == JobState::kStarting) task->state = TaskState::kPreparing;  // reserved anew
      continue;
    }
    TaskEnd end;
    end.status_lost = !rebooted;
    end.node_lost = rebooted;
    EndTask(tx, job, *task, end);
  }
}

void Engine::Impl::On(TransactionBuilder& tx, const NodeStateEvent& event) {
  const NodePtr known = tx.LookNode(event.node);
  if (!known || known->state == event.state || known->state == NodeState::kConfigured) return;
  Node node = *known;
  node.state = event.state;
  tx.Put(std::move(node));
}

void Engine::Impl::On(TransactionBuilder& tx, const TaskReadyEvent& event) {
  Task* task = Current(tx, event.node, event.key);
  if (!task || task->state != TaskState::kPreparing) return;
  task->state = TaskState::kReady;
  task->values = event.values;
  task->free_port = event.free_port;
  Settle(tx, tx.Edit(event.key.job));
}

void Engine::Impl::On(TransactionBuilder& tx, const TaskStartedEvent& event) {
  Task* task = Current(tx, event.node, event.key);
  if (!task || task->state >= TaskState::kRunning) return;
  Job& job = tx.Edit(event.key.job);
  if (!job.go) return;  // nobody was told to go: the agent will hear what is wanted
  task->state = TaskState::kRunning;
  task->started_wall_ns = tx.now().wall_ns;
  Settle(tx, job);
}

void Engine::Impl::On(TransactionBuilder& tx, const TaskExitedEvent& event) {
  Task* task = Current(tx, event.node, event.key);
  if (!task) return;
  if (task->started_wall_ns == 0 && !event.never_started) {
    task->started_wall_ns = tx.now().wall_ns - std::max<int64_t>(0, event.ran_for_ns);
  }
  TaskEnd end;
  end.exit_code = event.exit_code;
  end.signal = event.signal;
  end.status_lost = event.status_lost;
  end.never_started = event.never_started;
  end.log_tail = event.log_tail;
  EndTask(tx, tx.Edit(event.key.job), *task, end);
}

void Engine::Impl::On(TransactionBuilder& tx, const TaskRefusedEvent& event) {
  Task* task = Current(tx, event.node, event.key);
  if (!task) return;
  TaskEnd end;
  end.refused = event.why.empty() ? "the node gave no reason" : event.why;
  EndTask(tx, tx.Edit(event.key.job), *task, end);
}

void Engine::Impl::On(TransactionBuilder& tx, const AnswerEvent& event) { answers.push_back(event); }

void Engine::Impl::FireTimers(TransactionBuilder& tx) {
  fired_until = tx.now().mono_ns;
  FireDrains(tx);
  for (const auto& [at, id] : timers) {
    if (at > fired_until) break;
    const Job* found = tx.Look(id);
    if (!found) continue;
    Reason reason;
    if (found->state == JobState::kStarting) {
      Job& job = tx.Edit(id);
      reason.code = ReasonCode::kStartTimedOut;
      for (const Task& task : job.tasks) {
        if (task.state != TaskState::kPreparing) continue;
        reason.rank = task.rank;
        if (const NodePtr node = tx.LookNode(task.node)) reason.node = node->name;
        break;
      }
      reason.needed = options.start_limit.value / 1'000'000'000;
      StopJob(tx, job, JobState::kPending, reason, "not every rank was ready in time");
    } else if ((found->state == JobState::kRunning || found->state == JobState::kResizing) &&
               found->spec.time_limit.value > 0) {
      Job& job = tx.Edit(id);
      reason.code = ReasonCode::kTimeLimitReached;
      reason.needed = job.spec.time_limit.value / 1'000'000'000;
      StopJob(tx, job, JobState::kTimedOut, reason, "reached its time limit; its processes are told to stop");
    } else if (WaitsForRetry(*found)) {
      Job& job = tx.Edit(id);
      reason.code = ReasonCode::kNotYetConsidered;
      job.reasons = {reason};
    }
  }
}

}  // namespace sinew
