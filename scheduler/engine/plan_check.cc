// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/plan_check.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace sinew {
namespace {

absl::Status Refuse(const std::string& why) { return absl::InvalidArgumentError(why); }

}  // namespace

PlanCheck::Taken& PlanCheck::Of(const Node& node) {
  auto [it, fresh] = taken_.try_emplace(node.id);
  if (fresh) {
    const NodeUsage& usage = state_.usage(node.id);
    it->second.cpus = usage.cpus;
    it->second.memory = usage.memory;
    it->second.devices.resize(node.devices.size());
    for (size_t d = 0; d < node.devices.size(); ++d) it->second.devices[d] = usage.device_holder[d].value != 0;
  }
  return it->second;
}

absl::Status PlanCheck::Take(const Job* job, const RunProposal& proposal) {
  if (!job) return Refuse("no such job");
  const JobSpec& spec = job->spec;
  if (job->state != JobState::kPending) return Refuse(absl::StrCat("the job is ", std::string(Name(job->state))));
  if (job->held) return Refuse("the job is held");
  if (!WaitsForPlace(*job)) return Refuse("the job waits for the time of its next try");
  if (proposal.workers < spec.min_workers || proposal.workers > spec.max_workers) {
    return Refuse(absl::StrCat(proposal.workers, " workers; allowed are ", spec.min_workers, " to ", spec.max_workers));
  }
  if (proposal.after || proposal.within) return Refuse("no exact place: hand-offs and levels have no mechanism yet");
  if (proposal.tasks.size() != static_cast<size_t>(proposal.workers)) {
    return Refuse(absl::StrCat("places for ", proposal.tasks.size(), " of ", proposal.workers, " workers"));
  }
  const size_t alternatives = std::max<size_t>(1, spec.demand.devices.size());
  if (proposal.device_alternative >= alternatives) return Refuse("no such device alternative");
  const DeviceDemand* wanted =
      spec.demand.devices.empty() ? nullptr : &spec.demand.devices[proposal.device_alternative];

  auto before = taken_;  // a refused proposal takes nothing
  std::set<NodeId> nodes;
  const auto check = [&]() -> absl::Status {
    int32_t rank = 0;
    for (const TaskPlacement& task : proposal.tasks) {
      if (task.rank != rank) return Refuse(absl::StrCat("rank ", task.rank, " where ", rank, " was due"));
      ++rank;
      const NodePtr node = state_.FindNode(task.node);
      if (!node) return Refuse(absl::StrCat("rank ", task.rank, ": no such node"));
      if (node->state != NodeState::kUp) return Refuse(node->name + " is not up");
      if (node->cordon.on) return Refuse(node->name + " is cordoned");
      if (std::find(spec.pools.begin(), spec.pools.end(), node->pool) == spec.pools.end()) {
        return Refuse(node->name + " is in pool " + node->pool + ", which the job does not name");
      }
      nodes.insert(node->id);
      Taken& taken = Of(*node);
      if (task.devices.size() != static_cast<size_t>(wanted ? wanted->count : 0)) {
        return Refuse(absl::StrCat("rank ", task.rank, ": ", task.devices.size(), " devices; it needs ",
                                   wanted ? wanted->count : 0));
      }
      for (const int32_t d : task.devices) {
        if (d < 0 || static_cast<size_t>(d) >= node->devices.size()) {
          return Refuse(absl::StrCat(node->name, " has no device ", d));
        }
        if (!wanted->type.empty() && node->devices[d].type != wanted->type) {
          return Refuse(absl::StrCat("device ", d, " of ", node->name, " is no ", wanted->type));
        }
        if (taken.devices[d]) return Refuse(absl::StrCat("device ", d, " of ", node->name, " is taken"));
        taken.devices[d] = true;
      }
      taken.cpus += spec.demand.cpus;
      taken.memory += spec.demand.memory;
      if (taken.cpus > node->cpus) return Refuse(node->name + " has not enough CPUs free");
      if (taken.memory > node->memory) return Refuse(node->name + " has not enough memory free");
    }
    if (spec.colocation == Colocation::kOneNode && nodes.size() > 1) return Refuse("its workers belong on one node");
    if (spec.colocation == Colocation::kDistinctNodes && nodes.size() != proposal.tasks.size()) {
      return Refuse("no two of its workers belong on one node");
    }
    return absl::OkStatus();
  };
  const absl::Status status = check();
  if (!status.ok()) taken_ = std::move(before);
  return status;
}

}  // namespace sinew
