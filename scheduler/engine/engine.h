// SPDX-License-Identifier: Apache-2.0
// The pure core of the scheduler: events in, transactions out. No I/O, no threads, no clock. The same events at the
// same times with the same seed give the same transactions, byte for byte.
//
// Use, by one thread:
//   Transaction t = engine.Apply(events, now);   // short: answers never wait for a pass
//   store.Commit(t) ? engine.Commit(t) : engine.Abandon(t);
//   if (engine.NeedsPlan()) { t = engine.Plan(now); ... the same ... }
// Between Apply or Plan and Commit or Abandon nothing else may be called. Readers on other threads look at state()
// under the daemon's lock, which Commit must hold exclusively; Apply and Plan only read state().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cluster/cluster_state.h"
#include "cluster/time.h"
#include "policies/pipeline.h"
#include "scheduler/engine/event.h"
#include "scheduler/engine/transaction.h"

namespace sinew {

struct EngineOptions {
  uint64_t seed = 1;
  Nanos start_limit{60'000'000'000};   // a gang that is not ready by then is released everywhere
  Nanos retry_delay{1'000'000'000};    // before a failed run is tried again; doubles with each failure, at most 60 s
  size_t max_starts_per_pass = 256;    // a pass is counted, so that it stays short
  size_t ended_jobs_in_memory = 20'000;
  Nanos request_id_life{7LL * 24 * 3600 * 1'000'000'000};
};

// What the store had kept.
struct RestoredState {
  std::vector<JobPtr> jobs;  // all that have not ended, and the newest ended ones
  std::vector<NodePtr> nodes;
  std::vector<RequestRecord> requests;
  std::vector<StageStateRecord> stage_states;
  uint64_t last_revision = 0;
  uint64_t last_job_id = 0;
};

// What a node should hold. The daemon sends it to the agent with revisions (scheduler/agents).
struct DesiredTask {
  TaskKey key;
  enum class Phase : uint8_t { kPrepare, kGo, kStop } phase = Phase::kPrepare;
};

class Engine {
 public:
  Engine(EngineOptions options, std::unique_ptr<Pipeline> pipeline);
  ~Engine();

  // Once, before anything else. Nodes come back as SUSPECT until their agents register again; timers of running jobs
  // start from what the wall clock says has passed, and are set right by what the agents report.
  void Restore(RestoredState restored, Now now);

  Transaction Apply(std::span<const Event> events, Now now);  // also fires timers that are due
  bool NeedsPlan() const;
  Transaction Plan(Now now);
  void Commit(const Transaction& transaction, Now now);
  void Abandon(const Transaction& transaction);

  // When Apply must be called at the latest, even without events (monotonic); none = only events matter.
  std::optional<int64_t> NextTimer() const;

  const ClusterState& state() const;
  // Everything node must hold or stop now. Empty for a node without tasks.
  std::vector<DesiredTask> Desired(NodeId node) const;
  // Position among waiting jobs, from 1; 0 when it does not wait.
  int64_t QueuePosition(JobId job) const;
  std::map<JobId, int64_t> QueuePositions() const;  // of all that wait
  // Whether any node configured or ever registered, in any state, could hold the demand when empty. Fills `reason`
  // (kNoNodes: not an error, the job waits; kNeverSatisfiable with numbers: it is refused).
  bool Satisfiable(const JobSpec& spec, Reason* reason) const;
  const std::string& policy_name() const;
  // Why the newest pass was decided by fifo and pack in place of the policy; "" = it was not.
  const std::string& policy_error() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sinew
