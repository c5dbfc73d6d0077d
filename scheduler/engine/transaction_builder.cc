// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "scheduler/engine/engine_impl.h"

namespace sinew {

const Job* TransactionBuilder::Look(JobId id) const {
  if (auto it = jobs_.find(id); it != jobs_.end()) return it->second.get();
  const JobPtr job = state_.FindJob(id);
  return job.get();  // the state holds it for as long as this builder lives
}

Job& TransactionBuilder::Edit(JobId id) {
  auto [it, fresh] = jobs_.try_emplace(id);
  if (fresh) {
    it->second = std::make_shared<Job>(*state_.FindJob(id));
    it->second->revision = out_.revision;
  }
  return *it->second;
}

Job& TransactionBuilder::Create(Job job) {
  job.revision = out_.revision;
  const JobId id = job.id;
  return *(jobs_[id] = std::make_shared<Job>(std::move(job)));
}

NodePtr TransactionBuilder::LookNode(NodeId id) const {
  if (auto it = nodes_.find(id); it != nodes_.end()) return it->second;
  return state_.FindNode(id);
}

NodePtr TransactionBuilder::LookNode(const std::string& name) const {
  for (const auto& [id, node] : nodes_) {
    if (node->name == name) return node;
  }
  return state_.FindNode(name);
}

void TransactionBuilder::Put(Node node) {
  const NodeId id = node.id;
  nodes_[id] = std::make_shared<Node>(std::move(node));
}

uint32_t TransactionBuilder::NextNodeId() const {
  uint32_t next = static_cast<uint32_t>(state_.nodes().size());
  for (const auto& [id, node] : nodes_) next = std::max(next, id.value + 1);
  return next;
}

void TransactionBuilder::Log(const Job& job, const std::string& text, Reason reason) {
  out_.log.push_back({job.id, now_.wall_ns, job.state, job.run, std::move(reason), text});
}

void TransactionBuilder::Answer(AnswerToken token, absl::Status status, JobId job, Reason reason) {
  if (token != 0) out_.answers.push_back({token, std::move(status), job, std::move(reason)});
}

Transaction TransactionBuilder::Finish() {
  std::set<NodeId> told;
  for (auto& [id, job] : jobs_) {
    const JobPtr before = state_.FindJob(id);
    if (HoldsResources(job->state) || (before && HoldsResources(before->state))) {
      for (const Task& task : job->tasks) told.insert(task.node);
      if (before) {
        for (const Task& task : before->tasks) told.insert(task.node);
      }
    }
    out_.jobs.push_back(std::move(job));
  }
  for (auto& [id, node] : nodes_) {
    told.insert(id);
    out_.nodes.push_back(std::move(node));
  }
  out_.desired_changed.assign(told.begin(), told.end());
  return std::move(out_);
}

}  // namespace sinew
