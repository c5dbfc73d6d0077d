// SPDX-License-Identifier: Apache-2.0
// What should become true: the one typed place that stages write to. Jobs that a draft does not name stay as they are.
// The engine checks a draft before anything of it is committed (scheduler/engine/plan_check.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/ids.h"
#include "cluster/reason.h"
#include "cluster/units.h"
#include "policies/order_index.h"

namespace sinew {

enum class Level : uint8_t { kDevice, kIsland, kNode, kRack, kZone };

// One worker's exact place.
struct TaskPlacement {
  int32_t rank = 0;
  NodeId node;
  std::vector<int32_t> devices;
  bool operator==(const TaskPlacement&) const = default;
};

// How a job should run. A size stage sets `workers`, a place stage `tasks` (or a level for a later stage to satisfy).
struct RunProposal {
  int32_t workers = 0;
  size_t device_alternative = 0;        // index into Demand::devices
  std::optional<Level> within;          // to satisfy, by a later place stage
  std::vector<TaskPlacement> tasks;     // exact: one a worker, ranks 0..workers-1
  std::optional<TaskKey> after;         // hand-off: start when this task's devices are free
};

struct Wait {
  std::vector<Reason> reasons;          // typed, with numbers; stands until what blocks the job changes
  std::optional<int64_t> until_wall_ns;
  std::optional<Level> accept;          // worst level tolerated from then on
};
struct Suspend { bool keep_checkpoint = true; };
struct Reject { Reason reason; };
struct CounterOffer { int64_t deadline_wall_ns = 0; };
struct Shrink { std::vector<TaskPlacement> give_back; };

using JobDecision = std::variant<RunProposal, Wait, Suspend, Reject, CounterOffer, Shrink>;

// Records about devices, nodes, data and services. A stage names in Needs which it writes; the engine refuses a record
// that it has no mechanism for, with the reason on record.
struct DeviceRecord {
  NodeId node;
  int32_t device = 0;
  std::optional<int32_t> clock_mhz;
  std::optional<Milliwatts> cap;
  std::optional<std::string> layout;
  std::optional<std::string> lend_to;
};
struct NodeRecord {
  NodeId node;
  bool on = true;
};
struct DatasetRecord {
  std::string dataset, pool;
  Bytes cached;
};
struct BandwidthRecord {
  JobId job;
  int64_t bytes_per_second = 0;
};
struct ServiceRecord {
  JobId service;
  int32_t replicas = 0;
  int32_t batch = 0;
};
struct Reservation {
  std::optional<JobId> job;
  NodeId node;
  std::vector<int32_t> devices;
  int64_t from_wall_ns = 0;
  int64_t to_wall_ns = 0;
  bool firm = true;
};
struct WakeUp {
  int64_t at_mono_ns = 0;
  std::string tag;
};
// Slow or foreign computation: the shell computes it outside the pass and hands the answer to the stage that asked.
// What it holds stays as it is until `hold_until_mono_ns`; the fall-back touches it only after that.
struct Question {
  std::string stage;  // filled in by the pipeline
  std::string tag;
  std::string body;
  int64_t node_limit = 0;  // nodes, generations or rounds, so that answers are the same twice
  std::vector<JobId> holds_jobs;
  std::vector<NodeId> holds_nodes;
  int64_t hold_until_mono_ns = 0;
};

class Draft {
 public:
  // Order keys of changed jobs. Visible to later stages of the same pass through order_keys().
  void SetOrder(JobId job, OrderKey key) { order_keys_[job] = key; }
  // The last decision about a job in a pass wins.
  void Decide(JobId job, JobDecision decision) { jobs_[job] = std::move(decision); }
  // Takes back what was decided about a job: it stays as it is.
  void Forget(JobId job) { jobs_.erase(job); }
  JobDecision* Find(JobId job) {
    auto it = jobs_.find(job);
    return it == jobs_.end() ? nullptr : &it->second;
  }
  void Add(DeviceRecord record) { devices_.push_back(std::move(record)); }
  void Add(NodeRecord record) { nodes_.push_back(record); }
  void Add(DatasetRecord record) { datasets_.push_back(std::move(record)); }
  void Add(BandwidthRecord record) { bandwidths_.push_back(record); }
  void Add(ServiceRecord record) { services_.push_back(record); }
  void Add(Reservation record) { reservations_.push_back(std::move(record)); }
  void Add(WakeUp wake) { wake_ups_.push_back(std::move(wake)); }
  void Ask(Question question) { questions_.push_back(std::move(question)); }

  const std::map<JobId, OrderKey>& order_keys() const { return order_keys_; }
  const std::map<JobId, JobDecision>& jobs() const { return jobs_; }
  const std::vector<DeviceRecord>& devices() const { return devices_; }
  const std::vector<NodeRecord>& nodes() const { return nodes_; }
  const std::vector<DatasetRecord>& datasets() const { return datasets_; }
  const std::vector<BandwidthRecord>& bandwidths() const { return bandwidths_; }
  const std::vector<ServiceRecord>& services() const { return services_; }
  const std::vector<Reservation>& reservations() const { return reservations_; }
  const std::vector<WakeUp>& wake_ups() const { return wake_ups_; }
  std::vector<Question>& questions() { return questions_; }
  const std::vector<Question>& questions() const { return questions_; }

 private:
  std::map<JobId, OrderKey> order_keys_;
  std::map<JobId, JobDecision> jobs_;
  std::vector<DeviceRecord> devices_;
  std::vector<NodeRecord> nodes_;
  std::vector<DatasetRecord> datasets_;
  std::vector<BandwidthRecord> bandwidths_;
  std::vector<ServiceRecord> services_;
  std::vector<Reservation> reservations_;
  std::vector<WakeUp> wake_ups_;
  std::vector<Question> questions_;
};

}  // namespace sinew
