// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rpc/convert.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace sinew {

google::protobuf::Timestamp ToTimestamp(int64_t wall_ns) {
  google::protobuf::Timestamp t;
  t.set_seconds(wall_ns / 1'000'000'000);
  t.set_nanos(static_cast<int32_t>(wall_ns % 1'000'000'000));
  return t;
}

v1::Reason ToWire(const Reason& from) {
  v1::Reason to;
  to.set_code(static_cast<v1::ReasonCode>(from.code));
  to.set_needed(from.needed);
  to.set_best_node_free(from.best_node_free);
  to.set_total_free(from.total_free);
  to.set_nodes_excluded(from.nodes_excluded);
  to.set_device_type(from.device_type);
  to.set_position(from.position);
  to.set_rank(from.rank);
  to.set_node(from.node);
  to.set_exit_code(from.exit_code);
  to.set_signal(from.signal);
  to.set_detail(from.detail);
  return to;
}

JobSpec FromWire(const v1::JobSpec& from) {
  JobSpec to;
  to.name = from.name();
  to.kind = static_cast<JobKind>(from.kind());
  to.queue = from.queue();
  to.pools.assign(from.pools().begin(), from.pools().end());
  if (to.pools.empty()) to.pools = {"default"};
  to.min_workers = from.workers().min();
  to.max_workers = from.workers().max();
  for (const auto& a : from.resources().accelerators()) {
    if (a.count() > 0) to.demand.devices.push_back({a.type(), a.count()});
  }
  to.demand.cpus = {from.resources().milli_cpus()};
  to.demand.memory = {from.resources().memory_bytes()};
  if (from.placement().pack() == "node") to.colocation = Colocation::kOneNode;
  if (from.placement().spread() == "node") to.colocation = Colocation::kDistinctNodes;
  to.time_limit = {from.time_limit_ns()};
  to.grace = {from.preempt().grace_ns()};
  to.rendezvous = from.kind() == v1::TRAIN && from.workers().max() > 1;
  to.retry_max = from.retry().max();
  for (const std::string& on : from.retry().on()) {
    to.retry_on_signal |= on == "signal";
    to.retry_on_node_fail |= on == "node_fail";
  }
  to.body = from.SerializeAsString();
  return to;
}

namespace {

const char* StateName(const Task& task) {
  if (task.status_lost) return "lost";
  switch (task.state) {
    case TaskState::kPreparing: return "preparing";
    case TaskState::kReady: return "ready";
    case TaskState::kRunning: return "running";
    case TaskState::kExited: return "exited";
  }
  return "unknown";
}

}  // namespace

v1::Job ToWire(const Job& from, const NodeName& node_name, const JobProgress& progress) {
  v1::Job to;
  to.set_name("jobs/" + std::to_string(from.id.value));
  to.set_id(from.id.value);
  to.set_user(from.submitter.user);
  to.set_uid(from.submitter.uid);
  to.mutable_spec()->ParseFromString(from.spec.body);
  to.set_state(static_cast<v1::JobState>(from.state));
  for (const Reason& reason : from.reasons) *to.add_reasons() = ToWire(reason);
  to.set_run(from.run);
  *to.mutable_submitted() = ToTimestamp(from.submitted_wall_ns);
  if (from.started_wall_ns) *to.mutable_started() = ToTimestamp(from.started_wall_ns);
  if (from.ended_wall_ns) *to.mutable_ended() = ToTimestamp(from.ended_wall_ns);
  *to.mutable_state_since() = ToTimestamp(from.state_since_wall_ns);
  const bool current = progress.run == from.run;
  for (const Task& task : from.tasks) {
    v1::TaskStatus& t = *to.add_tasks();
    t.set_rank(task.rank);
    t.set_node(node_name(task.node));
    t.set_state(StateName(task));
    for (const int32_t d : task.devices) t.add_devices(d);
    t.set_exit_code(task.exit_code);
    t.set_signal(task.signal);
    if (task.started_wall_ns) *t.mutable_started() = ToTimestamp(task.started_wall_ns);
    if (task.ended_wall_ns) *t.mutable_ended() = ToTimestamp(task.ended_wall_ns);
    if (auto it = progress.ranks.find(task.rank); current && it != progress.ranks.end()) {
      *t.mutable_progress() = it->second;
    }
  }
  if (!progress.ranks.empty()) *to.mutable_progress() = progress.Total();
  to.set_energy_millijoules(from.energy.value);
  if (from.energy.value > 0) to.set_energy_source("modelled");
  to.set_exit_code(from.exit_code);
  to.set_etag(std::to_string(from.revision));
  for (const std::string& line : from.log_tail) to.add_log_tail(line);
  return to;
}

v1::JobEvent ToWire(const Store::LogLine& line) {
  v1::JobEvent to;
  to.set_job_id(line.record.job.value);
  to.set_revision(line.revision);
  *to.mutable_at() = ToTimestamp(line.record.wall_ns);
  to.set_state(static_cast<v1::JobState>(line.record.state));
  if (line.record.reason.code != ReasonCode::kUnspecified) *to.mutable_reason() = ToWire(line.record.reason);
  to.set_run(line.record.run);
  to.set_text(line.record.text);
  return to;
}

v1::Node ToWire(const Node& from, const NodeUsage& usage) {
  v1::Node to;
  to.set_name("nodes/" + from.name);
  to.set_state(static_cast<v1::NodeState>(from.state));
  to.set_pool(from.pool);
  to.mutable_info()->ParseFromString(from.info);
  if (to.info().devices_size() == static_cast<int>(usage.device_holder.size())) {
    for (int i = 0; i < to.info().devices_size(); ++i) {
      to.mutable_info()->mutable_devices(i)->set_state(usage.device_holder[i].value == 0 ? "free" : "allocated");
    }
  }
  to.set_free_milli_cpus(std::max<int64_t>(0, from.cpus.value - usage.cpus.value));
  to.set_free_memory_bytes(std::max<int64_t>(0, from.memory.value - usage.memory.value));
  to.set_free_devices(usage.free_devices);
  if (from.registered_wall_ns) *to.mutable_registered() = ToTimestamp(from.registered_wall_ns);
  to.set_tasks(static_cast<int32_t>(usage.tasks.size()));
  if (from.cordon.on) {
    to.set_cordoned(true);
    to.set_draining(from.cordon.draining);
    to.set_cordon_reason(from.cordon.reason);
    to.set_cordoned_by(from.cordon.by);
    *to.mutable_cordoned_since() = ToTimestamp(from.cordon.since_wall_ns);
    if (from.cordon.deadline_wall_ns) *to.mutable_drain_deadline() = ToTimestamp(from.cordon.deadline_wall_ns);
  }
  uint64_t last = 0;
  for (const TaskKey& key : usage.tasks) {
    if (key.job.value != last) to.add_jobs(last = key.job.value);
  }
  return to;
}

uint64_t JobNumber(const std::string& name) {
  const std::string digits = name.starts_with("jobs/") ? name.substr(5) : name;
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) return 0;
  return std::strtoull(digits.c_str(), nullptr, 10);
}

}  // namespace sinew
