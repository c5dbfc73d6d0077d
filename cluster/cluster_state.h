// SPDX-License-Identifier: Apache-2.0
// The whole cluster as the engine sees it, with the indices that keep a decision's cost apart from the number of jobs
// ever seen. A plain value: no I/O, no clock, no lock. Written only by Put*, after the store took the change; the
// daemon guards it with a lock of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "cluster/ids.h"
#include "cluster/job.h"
#include "cluster/node.h"
#include "cluster/units.h"

namespace sinew {

using JobPtr = std::shared_ptr<const Job>;
using NodePtr = std::shared_ptr<const Node>;

// What of a node is taken. Derived from the tasks of jobs that hold resources.
struct NodeUsage {
  MilliCpus cpus;
  Bytes memory;
  std::vector<JobId> device_holder;  // by device index; 0 = free
  int32_t free_devices = 0;
  std::set<TaskKey> tasks;  // that hold something or must still be stopped there
};

class ClusterState {
 public:
  // --- reading ---------------------------------------------------------------------------------------------------
  JobPtr FindJob(JobId id) const;                      // null when unknown
  NodePtr FindNode(NodeId id) const;                   // null when unknown
  NodePtr FindNode(std::string_view name) const;
  const std::vector<NodePtr>& nodes() const { return nodes_; }   // by NodeId
  const NodeUsage& usage(NodeId id) const { return usage_[id.value]; }
  const std::map<JobId, JobPtr>& jobs() const { return jobs_; }  // every job kept in memory
  const std::set<JobId>& pending() const { return pending_; }    // wait for a place
  const std::set<JobId>& active() const { return active_; }      // hold resources
  // Jobs of one submitter that have not ended.
  std::vector<JobId> LiveJobsOf(uint32_t uid) const;

  // --- writing ---------------------------------------------------------------------------------------------------
  void PutJob(JobPtr job);
  void PutNode(NodePtr node);
  // Drops the oldest ended jobs from memory until at most `keep` ended ones are left; the store still has them.
  void ForgetEnded(size_t keep);

  // Recomputes every index from the jobs and compares: an error names the first difference. For tests, and for the
  // daemon after it restored a state.
  absl::Status CheckInvariants() const;

 private:
  void Release(const Job& job);
  void Hold(const Job& job);

  std::map<JobId, JobPtr> jobs_;
  std::vector<NodePtr> nodes_;
  std::vector<NodeUsage> usage_;
  std::map<std::string, NodeId, std::less<>> node_by_name_;
  std::set<JobId> pending_;
  std::set<JobId> active_;
  std::set<JobId> ended_;
  absl::flat_hash_map<uint32_t, std::set<JobId>> live_by_uid_;
};

}  // namespace sinew
