// SPDX-License-Identifier: Apache-2.0
// The life of one job: how it starts, how a gang gets its GO, how it is stopped, who is to blame when it fails.
#include <signal.h>

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "estimate/power.h"
#include "scheduler/engine/engine_impl.h"

namespace sinew {
namespace {

constexpr int32_t kPeerLost = 75;  // a worker that ended because another one was gone (EX_TEMPFAIL)

bool Succeeded(const TaskEnd& end) {
  return end.exit_code == 0 && end.signal == 0 && !end.status_lost && !end.never_started && !end.node_lost &&
         end.refused.empty();
}

// How likely this end is the cause of a failed run; 0 = it is a consequence of our own stop.
int Guilt(const TaskEnd& end, bool while_stopping) {
  if (!end.refused.empty()) return 6;
  if (end.node_lost) return 5;
  if (end.status_lost) return while_stopping ? 2 : 4;
  if (end.never_started) return 0;
  if (end.signal != 0) {
    if (!while_stopping) return 5;
    return end.signal == SIGTERM ? 0 : 3;
  }
  if (end.exit_code == kPeerLost) return 1;
  if (end.exit_code == 0) return 0;
  if (while_stopping) return end.exit_code == 128 + SIGTERM ? 0 : 2;
  return 5;
}

int BlamedSoFar(const Job& job) {
  if (job.reasons.empty()) return 0;
  const Reason& r = job.reasons[0];
  switch (r.code) {
    case ReasonCode::kStartRefused: return 6;
    case ReasonCode::kNodeLost: return 5;
    case ReasonCode::kTaskSignalled: return 5;
    case ReasonCode::kTaskExited: return r.exit_code == kPeerLost ? 1 : 5;
    case ReasonCode::kTaskStatusLost: return 4;
    default: return 9;  // a cancel or a limit: nobody is to blame
  }
}

Reason Blame(TransactionBuilder& tx, const Task& task, const TaskEnd& end) {
  Reason reason;
  reason.rank = task.rank;
  if (const NodePtr node = tx.LookNode(task.node)) reason.node = node->name;
  reason.exit_code = end.exit_code;
  reason.signal = end.signal;
  reason.detail = end.refused;
  reason.code = !end.refused.empty() ? ReasonCode::kStartRefused
                : end.node_lost      ? ReasonCode::kNodeLost
                : end.status_lost    ? ReasonCode::kTaskStatusLost
                : end.signal != 0    ? ReasonCode::kTaskSignalled
                                     : ReasonCode::kTaskExited;
  return reason;
}

std::string HowItEnded(const TaskEnd& end) {
  if (!end.refused.empty()) return "could not start";
  if (end.node_lost) return "is gone: its node was started anew";
  if (end.status_lost) return "ended unseen";
  if (end.never_started) return "was never started";
  if (end.signal != 0) return absl::StrCat("was killed by signal ", end.signal);
  return absl::StrCat("exited with ", end.exit_code);
}

bool MayRunAgain(const Job& job) {
  if (job.failures >= job.spec.retry_max || job.reasons.empty()) return false;
  const Reason& r = job.reasons[0];
  switch (r.code) {
    case ReasonCode::kTaskSignalled:
    case ReasonCode::kTaskStatusLost: return job.spec.retry_on_signal;
    case ReasonCode::kNodeLost: return job.spec.retry_on_node_fail;
    case ReasonCode::kTaskExited:
      return r.exit_code == kPeerLost && (job.spec.retry_on_signal || job.spec.retry_on_node_fail);
    default: return false;
  }
}

int32_t ShellStatus(const Job& job) {
  if (job.state == JobState::kCompleted) return 0;
  if (job.state == JobState::kTimedOut) return 124;
  if (job.reasons.empty()) return 1;
  const Reason& r = job.reasons[0];
  if (r.code == ReasonCode::kTaskSignalled) return 128 + r.signal;
  if (r.code == ReasonCode::kTaskExited && r.exit_code != 0) return r.exit_code;
  return 1;
}

void AddEnergy(TransactionBuilder& tx, Job& job) {
  for (const Task& task : job.tasks) {
    if (task.started_wall_ns == 0) continue;
    if (const NodePtr node = tx.LookNode(task.node)) {
      job.energy += TaskEnergy(*node, task, task.ended_wall_ns - task.started_wall_ns);
    }
  }
}

void Finish(TransactionBuilder& tx, Job& job) {
  AddEnergy(tx, job);
  JobState to = job.state == JobState::kStopping ? job.stopping_to : JobState::kCompleted;
  if (to == JobState::kFailed && MayRunAgain(job)) {
    ++job.failures;
    Reason cause = job.reasons[0];
    const std::string after = absl::StrCat("run ", job.run, " failed; try ", job.failures, " of ", job.spec.retry_max,
                                           " follows");
    cause.code = ReasonCode::kRetrying;
    SetState(job, JobState::kPending, tx.now());
    tx.Log(job, after, job.reasons[0]);
    job.reasons = {cause};
    if (job.held) job.reasons = {HeldReason(job)};
    return;
  }
  if (to == JobState::kCompleted) {
    Reason done;
    done.code = ReasonCode::kSucceeded;
    job.reasons = {done};
    job.log_tail.clear();
  }
  SetState(job, to, tx.now());
  if (to == JobState::kPending && job.held) job.reasons = {HeldReason(job)};
  if (to != JobState::kPending) {
    job.ended_wall_ns = tx.now().wall_ns;
    job.exit_code = ShellStatus(job);
  }
  tx.Log(job, to == JobState::kPending ? "waits again" : "ended", job.reasons.empty() ? Reason{} : job.reasons[0]);
}

}  // namespace

void SetState(Job& job, JobState to, Now now) {
  assert(TransitionAllowed(job.state, to));
  job.state = to;
  job.state_since_wall_ns = now.wall_ns;
}

void StartJob(TransactionBuilder& tx, Job& job, const RunProposal& proposal) {
  ++job.run;
  job.reasons.clear();
  job.log_tail.clear();
  job.tasks.clear();
  for (const TaskPlacement& place : proposal.tasks) {
    Task task;
    task.rank = place.rank;
    task.node = place.node;
    task.devices = place.devices;
    task.cpus = job.spec.demand.cpus;
    task.memory = job.spec.demand.memory;
    job.tasks.push_back(std::move(task));
  }
  // A gang of one has nobody to wait for: it is told to run at once.
  job.go = job.tasks.size() == 1 && !job.spec.rendezvous;
  job.started_wall_ns = job.go ? tx.now().wall_ns : 0;
  SetState(job, job.go ? JobState::kRunning : JobState::kStarting, tx.now());
  std::vector<std::string> names;
  for (const Task& task : job.tasks) {
    const std::string& name = tx.LookNode(task.node)->name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string where;
  for (size_t i = 0; i < names.size() && i < 8; ++i) absl::StrAppend(&where, i ? ", " : "", names[i]);
  if (names.size() > 8) absl::StrAppend(&where, " and ", names.size() - 8, " more");
  tx.Log(job, absl::StrCat("placed on ", where));
}

void StopJob(TransactionBuilder& tx, Job& job, JobState then, Reason reason, const std::string& text) {
  job.reasons = {reason};
  job.stopping_to = then;
  if (job.state != JobState::kStopping) SetState(job, JobState::kStopping, tx.now());
  tx.Log(job, text, reason);
  Settle(tx, job);
}

void Settle(TransactionBuilder& tx, Job& job) {
  if (std::all_of(job.tasks.begin(), job.tasks.end(), [](const Task& t) { return t.state == TaskState::kExited; })) {
    Finish(tx, job);
    return;
  }
  if (job.state == JobState::kStarting && !job.go &&
      std::all_of(job.tasks.begin(), job.tasks.end(), [](const Task& t) { return t.state != TaskState::kPreparing; })) {
    job.go = true;
    job.started_wall_ns = tx.now().wall_ns;
    SetState(job, JobState::kRunning, tx.now());
    tx.Log(job, "every rank is ready; running");
  }
  if (job.go && std::all_of(job.tasks.begin(), job.tasks.end(),
                            [](const Task& t) { return t.state >= TaskState::kRunning; })) {
    for (Task& task : job.tasks) task.values.clear();
  }
}

void EndTask(TransactionBuilder& tx, Job& job, Task& task, const TaskEnd& end) {
  if (task.state == TaskState::kExited) return;
  task.state = TaskState::kExited;
  task.exit_code = end.exit_code;
  task.signal = end.signal;
  task.status_lost = end.status_lost || end.node_lost;
  task.never_started = end.never_started || !end.refused.empty();
  task.ended_wall_ns = tx.now().wall_ns;
  task.values.clear();
  const bool while_stopping = job.state == JobState::kStopping;
  if (Succeeded(end) || (while_stopping && job.stopping_to != JobState::kFailed)) {
    Settle(tx, job);
    return;
  }
  const int guilt = Guilt(end, while_stopping);
  const Reason reason = Blame(tx, task, end);
  const std::string text = absl::StrCat("rank ", task.rank, " on ", reason.node, " ", HowItEnded(end));
  if (!while_stopping) {
    job.log_tail = end.log_tail;
    StopJob(tx, job, JobState::kFailed, reason, text);
    return;
  }
  if (guilt > BlamedSoFar(job)) {
    job.reasons = {reason};
    job.log_tail = end.log_tail;
  }
  if (guilt > 0) tx.Log(job, text, reason);
  Settle(tx, job);
}

}  // namespace sinew
