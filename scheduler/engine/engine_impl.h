// SPDX-License-Identifier: Apache-2.0
// Inside the engine: its fields, and the builder that collects what one batch or pass changes. Not for other packages.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/engine/engine.h"

namespace sinew {

// Collects new versions of records over a state that stays as it is. Lookups see what was edited before.
class TransactionBuilder {
 public:
  TransactionBuilder(const ClusterState& state, Now now, uint64_t revision) : state_(state), now_(now) {
    out_.revision = revision;
    out_.wall_ns = now.wall_ns;
  }

  const Job* Look(JobId id) const;
  Job& Edit(JobId id);            // must exist
  Job& Create(Job job);
  NodePtr LookNode(NodeId id) const;
  NodePtr LookNode(const std::string& name) const;
  void Put(Node node);
  uint32_t NextNodeId() const;
  // Nodes edited so far.
  const std::map<NodeId, NodePtr>& nodes() const { return nodes_; }

  void Log(const Job& job, const std::string& text, Reason reason = {});
  void Answer(AnswerToken token, absl::Status status, JobId job, Reason reason = {});

  Transaction& out() { return out_; }
  Now now() const { return now_; }
  // Moves everything into one transaction; says which nodes must be told.
  Transaction Finish();

 private:
  const ClusterState& state_;
  Now now_;
  Transaction out_;
  std::map<JobId, std::shared_ptr<Job>> jobs_;
  std::map<NodeId, NodePtr> nodes_;
};

// --- lifecycle.cc: what happens to one job ---------------------------------------------------------------------------

void SetState(Job& job, JobState to, Now now);
void StartJob(TransactionBuilder& tx, Job& job, const RunProposal& proposal);
// Tells every rank to stop; ends the job at once when none is left.
void StopJob(TransactionBuilder& tx, Job& job, JobState then, Reason reason, const std::string& text);
// After a change to its tasks: GO when all are ready, the end when all are gone.
void Settle(TransactionBuilder& tx, Job& job);
Reason HeldReason(const Job& job);
struct TaskEnd {
  int32_t exit_code = 0;
  int32_t signal = 0;
  bool status_lost = false;
  bool never_started = false;
  bool node_lost = false;
  std::string refused;  // why the agent would not start it
  std::vector<std::string> log_tail;
};
void EndTask(TransactionBuilder& tx, Job& job, Task& task, const TaskEnd& end);

// operate.cc: the one whose request this is may act on the job; else NOT_FOUND in the same words as for no job.
absl::Status MayActOn(const Job* job, JobId id, uint32_t uid, bool is_operator);

// Whether any node, whatever its state, could hold the job when empty. No node at all: yes, it waits.
bool SatisfiableIn(const ClusterState& state, const JobSpec& spec, Reason* reason);

struct Engine::Impl {
  EngineOptions options;
  std::unique_ptr<Pipeline> pipeline;
  ClusterState state;
  OrderIndex order;
  uint64_t revision = 0;
  uint64_t last_job_id = 0;
  std::map<std::pair<uint32_t, std::string>, RequestRecord> requests;
  std::deque<std::pair<uint32_t, std::string>> request_age;
  std::vector<Rejection> rejections;
  std::string policy_error;  // of the newest pass

  // One timer a job at most: start limit while STARTING, time limit while RUNNING, delay of the next try while PENDING.
  std::map<JobId, int64_t> timer_of;
  std::set<std::pair<int64_t, JobId>> timers;
  std::set<int64_t> wake_ups;
  std::set<std::pair<int64_t, NodeId>> drains;  // deadlines

  // Of the transaction that is out; taken over or dropped with it.
  bool outstanding = false;
  uint64_t created = 0;  // jobs
  std::optional<Pipeline::Result> planned;
  std::vector<std::pair<JobId, int64_t>> running_for;  // what agents report of running jobs
  std::vector<AnswerEvent> answers;
  std::vector<Rejection> next_rejections;
  std::vector<int64_t> next_wake_ups;
  int64_t fired_until = -1;  // timers of jobs
  int64_t woken_until = -1;  // wake-ups of stages

  void SetTimer(JobId id, std::optional<int64_t> at_mono_ns);
  void ResetTimer(const Job* before, const Job& after, Now now);
  void ApplyEvent(TransactionBuilder& tx, const Event& event);
  void FireTimers(TransactionBuilder& tx);
  // operate.cc
  void SetDrain(const Node& node, Now now);
  void FireDrains(TransactionBuilder& tx);

  void On(TransactionBuilder& tx, const SubmitEvent& event);
  void On(TransactionBuilder& tx, const CancelEvent& event);
  void On(TransactionBuilder& tx, const JobControlEvent& event);
  void On(TransactionBuilder& tx, const NodeControlEvent& event);
  void On(TransactionBuilder& tx, const NodeRegisteredEvent& event);
  void On(TransactionBuilder& tx, const NodeStateEvent& event);
  void On(TransactionBuilder& tx, const TaskReadyEvent& event);
  void On(TransactionBuilder& tx, const TaskStartedEvent& event);
  void On(TransactionBuilder& tx, const TaskExitedEvent& event);
  void On(TransactionBuilder& tx, const TaskRefusedEvent& event);
  void On(TransactionBuilder& tx, const AnswerEvent& event);
};

}  // namespace sinew
