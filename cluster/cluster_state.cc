// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_state.h"

#include "absl/strings/str_cat.h"

namespace sinew {

JobPtr ClusterState::FindJob(JobId id) const {
  auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : it->second;
}

NodePtr ClusterState::FindNode(NodeId id) const { return id.value < nodes_.size() ? nodes_[id.value] : nullptr; }

NodePtr ClusterState::FindNode(std::string_view name) const {
  auto it = node_by_name_.find(name);
  return it == node_by_name_.end() ? nullptr : nodes_[it->second.value];
}

std::vector<JobId> ClusterState::LiveJobsOf(uint32_t uid) const {
  auto it = live_by_uid_.find(uid);
  if (it == live_by_uid_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

void ClusterState::Hold(const Job& job) {
  if (!HoldsResources(job.state)) return;
  for (const Task& task : job.tasks) {
    if (task.state == TaskState::kExited) continue;
    NodeUsage& usage = usage_[task.node.value];
    usage.cpus += task.cpus;
    usage.memory += task.memory;
    usage.tasks.insert({job.id, job.run, task.rank});
    for (const int32_t d : task.devices) {
      // A description that shrank may no longer have the device; the task still runs.
      if (static_cast<size_t>(d) >= usage.device_holder.size()) continue;
      if (usage.device_holder[d].value == 0) --usage.free_devices;
      usage.device_holder[d] = job.id;
    }
  }
}

void ClusterState::Release(const Job& job) {
  if (!HoldsResources(job.state)) return;
  for (const Task& task : job.tasks) {
    if (task.state == TaskState::kExited) continue;
    NodeUsage& usage = usage_[task.node.value];
    usage.cpus -= task.cpus;
    usage.memory -= task.memory;
    usage.tasks.erase({job.id, job.run, task.rank});
    for (const int32_t d : task.devices) {
      if (static_cast<size_t>(d) >= usage.device_holder.size()) continue;
      if (usage.device_holder[d] == job.id) {
        usage.device_holder[d] = JobId{};
        ++usage.free_devices;
      }
    }
  }
}

void ClusterState::PutJob(JobPtr job) {
  const JobId id = job->id;
  JobPtr& slot = jobs_[id];
  if (slot) Release(*slot);
  Hold(*job);
  const auto place = [id](std::set<JobId>& in, bool member) { member ? (void)in.insert(id) : (void)in.erase(id); };
  place(pending_, WaitsForPlace(*job));
  place(active_, HoldsResources(job->state));
  place(ended_, IsEnd(job->state));
  if (IsEnd(job->state)) {
    if (auto it = live_by_uid_.find(job->submitter.uid); it != live_by_uid_.end()) {
      it->second.erase(id);
      if (it->second.empty()) live_by_uid_.erase(it);
    }
  } else {
    live_by_uid_[job->submitter.uid].insert(id);
  }
  slot = std::move(job);
}

void ClusterState::PutNode(NodePtr node) {
  const uint32_t index = node->id.value;
  if (index >= nodes_.size()) {
    nodes_.resize(index + 1);
    usage_.resize(index + 1);
  }
  NodeUsage& usage = usage_[index];
  if (!nodes_[index] || nodes_[index]->devices.size() != node->devices.size()) {
    usage.device_holder.assign(node->devices.size(), JobId{});
    usage.free_devices = static_cast<int32_t>(node->devices.size());
    for (const TaskKey& key : usage.tasks) {
      const JobPtr job = FindJob(key.job);
      if (!job || job->run != key.run) continue;
      for (const Task& task : job->tasks) {
        if (task.rank != key.rank) continue;
        for (const int32_t d : task.devices) {
          if (static_cast<size_t>(d) >= usage.device_holder.size()) continue;
          if (usage.device_holder[d].value == 0) --usage.free_devices;
          usage.device_holder[d] = job->id;
        }
      }
    }
  }
  node_by_name_[node->name] = node->id;
  nodes_[index] = std::move(node);
}

void ClusterState::ForgetEnded(size_t keep) {
  while (ended_.size() > keep) {
    jobs_.erase(*ended_.begin());
    ended_.erase(ended_.begin());
  }
}

absl::Status ClusterState::CheckInvariants() const {
  ClusterState fresh;
  for (const NodePtr& node : nodes_) {
    if (!node) return absl::InternalError("a node id was skipped");
    fresh.PutNode(node);
  }
  for (const auto& [id, job] : jobs_) {
    if (job->id != id) return absl::InternalError(absl::StrCat("jobs/", id.value, " is filed under another id"));
    std::map<std::pair<uint32_t, int32_t>, int32_t> holders;
    if (HoldsResources(job->state)) {
      for (const Task& task : job->tasks) {
        if (task.state == TaskState::kExited) continue;
        if (task.node.value >= nodes_.size()) return absl::InternalError("a task lies on an unknown node");
        for (const int32_t d : task.devices) {
          if (!holders.emplace(std::pair{task.node.value, d}, task.rank).second) {
            return absl::InternalError(absl::StrCat("jobs/", id.value, " holds one device for two ranks"));
          }
          const auto& taken = fresh.usage_[task.node.value].device_holder;
          if (static_cast<size_t>(d) < taken.size() && taken[d].value != 0) {
            return absl::InternalError(absl::StrCat("device ", d, " of ", nodes_[task.node.value]->name,
                                                    " is held by jobs/", taken[d].value, " and jobs/", id.value));
          }
        }
      }
    }
    fresh.PutJob(job);
  }
  const auto differ = [](const char* what) { return absl::InternalError(absl::StrCat("index differs: ", what)); };
  if (fresh.pending_ != pending_) return differ("pending");
  if (fresh.active_ != active_) return differ("active");
  if (fresh.ended_ != ended_) return differ("ended");
  if (fresh.live_by_uid_ != live_by_uid_) return differ("live jobs by user");
  if (fresh.node_by_name_ != node_by_name_) return differ("nodes by name");
  for (size_t i = 0; i < usage_.size(); ++i) {
    const NodeUsage &a = usage_[i], &b = fresh.usage_[i];
    if (a.cpus != b.cpus || a.memory != b.memory || a.device_holder != b.device_holder ||
        a.free_devices != b.free_devices || a.tasks != b.tasks) {
      return differ(nodes_[i]->name.c_str());
    }
  }
  return absl::OkStatus();
}

}  // namespace sinew
