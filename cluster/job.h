// SPDX-License-Identifier: Apache-2.0
// A job: what was asked (the part that decisions read), where it is placed and what became of it.
// A Job in ClusterState is immutable: a change makes a new version, which the store takes first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/ids.h"
#include "cluster/job_state.h"
#include "cluster/reason.h"
#include "cluster/units.h"

namespace sinew {

enum class JobKind : uint8_t { kCommand = 1, kTrain = 2, kService = 3, kBatch = 4 };

struct DeviceDemand {
  std::string type;  // "" = any
  int32_t count = 0;
  bool operator==(const DeviceDemand&) const = default;
};

// What each worker needs. Alternatives are tried in order; empty = no device.
struct Demand {
  std::vector<DeviceDemand> devices;
  MilliCpus cpus;
  Bytes memory;
  bool operator==(const Demand&) const = default;
};

enum class Colocation : uint8_t { kNone, kOneNode, kDistinctNodes };

struct JobSpec {
  std::string name;
  JobKind kind = JobKind::kCommand;
  std::string queue;
  std::vector<std::string> pools;  // never empty: {"default"} when none was named
  int32_t min_workers = 1;
  int32_t max_workers = 1;
  Demand demand;
  Colocation colocation = Colocation::kNone;
  Nanos time_limit;  // 0 = none
  Nanos grace;
  bool rendezvous = false;  // its processes start at PREPARE and hear from their peers at GO
  int32_t retry_max = 0;
  bool retry_on_signal = false;
  bool retry_on_node_fail = false;
  std::string body;  // serialized sinew.v1.JobSpec, opaque to the core

  bool operator==(const JobSpec&) const = default;
};

struct Submitter {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string user;
  bool operator==(const Submitter&) const = default;
};

enum class TaskState : uint8_t {
  kPreparing = 1,  // the node was asked to reserve
  kReady = 2,      // the node reserved and said so
  kRunning = 3,    // its process started
  kExited = 4,     // its process is gone, or never came
};

// One rank of the current run and what it holds. Held until the task exited or the job's node is declared dead.
struct Task {
  int32_t rank = 0;
  NodeId node;
  std::vector<int32_t> devices;  // indices on that node
  MilliCpus cpus;
  Bytes memory;
  TaskState state = TaskState::kPreparing;
  int32_t exit_code = 0;
  int32_t signal = 0;
  bool status_lost = false;
  bool never_started = false;
  int64_t started_wall_ns = 0;
  int64_t ended_wall_ns = 0;
  int32_t free_port = 0;                      // reserved on its node while preparing
  std::map<std::string, std::string> values;  // rendezvous: what it set; dropped once the gang runs

  bool operator==(const Task&) const = default;
};

struct Job {
  JobId id;
  Submitter submitter;
  JobSpec spec;
  JobState state = JobState::kPending;
  std::vector<Reason> reasons;  // what blocks it, the most important first; or the one end
  uint32_t run = 0;             // 0 = never started
  int32_t failures = 0;         // runs that failed and were retried
  bool held = false;            // not to be started until it is released
  bool held_by_operator = false;  // who alone may then release it
  std::string held_by;
  std::vector<Task> tasks;      // of the current or last run, by rank
  bool go = false;              // every rank was ready and was told to go
  // While stopping: how it will end. kPending = it will run again.
  JobState stopping_to = JobState::kCancelled;
  int64_t submitted_wall_ns = 0;
  int64_t state_since_wall_ns = 0;
  int64_t started_wall_ns = 0;  // of the current run
  int64_t ended_wall_ns = 0;
  Millijoules energy;       // of all runs that ended
  int32_t exit_code = 0;    // what a shell would see
  std::vector<std::string> log_tail;
  uint64_t revision = 0;    // of the transaction that wrote this version

  bool operator==(const Job&) const = default;
};

// Whether it waits for the time of its next try.
inline bool WaitsForRetry(const Job& job) {
  return job.state == JobState::kPending && !job.held && !job.reasons.empty() &&
         job.reasons[0].code == ReasonCode::kRetrying;
}
// Whether a pass should look at it.
inline bool WaitsForPlace(const Job& job) {
  return job.state == JobState::kPending && !job.held && !WaitsForRetry(job);
}

}  // namespace sinew
