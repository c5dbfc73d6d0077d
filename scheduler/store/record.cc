// SPDX-License-Identifier: Apache-2.0
#include "scheduler/store/record.h"

#include "absl/strings/str_cat.h"
#include "scheduler/store/record.pb.h"

namespace sinew {
namespace {

void Write(const Reason& from, store::ReasonRecord& to) {
  to.set_code(static_cast<int>(from.code));
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
}

Reason Read(const store::ReasonRecord& from) {
  Reason to;
  to.code = static_cast<ReasonCode>(from.code());
  to.needed = from.needed();
  to.best_node_free = from.best_node_free();
  to.total_free = from.total_free();
  to.nodes_excluded = from.nodes_excluded();
  to.device_type = from.device_type();
  to.position = from.position();
  to.rank = from.rank();
  to.node = from.node();
  to.exit_code = from.exit_code();
  to.signal = from.signal();
  to.detail = from.detail();
  return to;
}

absl::Status Damaged(const std::string& what) {
  return absl::DataLossError(what + " cannot be read: the database is damaged");
}

}  // namespace

std::string EncodeSpec(const Job& job) {
  const JobSpec& from = job.spec;
  store::SpecRecord to;
  to.set_name(from.name);
  to.set_kind(static_cast<int>(from.kind));
  to.set_queue(from.queue);
  for (const std::string& pool : from.pools) to.add_pools(pool);
  to.set_min_workers(from.min_workers);
  to.set_max_workers(from.max_workers);
  for (const DeviceDemand& d : from.demand.devices) {
    auto* device = to.add_devices();
    device->set_type(d.type);
    device->set_count(d.count);
  }
  to.set_milli_cpus(from.demand.cpus.value);
  to.set_memory(from.demand.memory.value);
  to.set_colocation(static_cast<int>(from.colocation));
  to.set_time_limit(from.time_limit.value);
  to.set_grace(from.grace.value);
  to.set_rendezvous(from.rendezvous);
  to.set_retry_max(from.retry_max);
  to.set_retry_on_signal(from.retry_on_signal);
  to.set_retry_on_node_fail(from.retry_on_node_fail);
  to.set_body(from.body);
  to.set_uid(job.submitter.uid);
  to.set_gid(job.submitter.gid);
  to.set_user(job.submitter.user);
  return to.SerializeAsString();
}

std::string EncodeJob(const Job& job) {
  store::JobRecord to;
  to.set_state(static_cast<int>(job.state));
  for (const Reason& reason : job.reasons) Write(reason, *to.add_reasons());
  to.set_run(job.run);
  to.set_failures(job.failures);
  for (const Task& from : job.tasks) {
    auto* task = to.add_tasks();
    task->set_rank(from.rank);
    task->set_node(from.node.value);
    for (const int32_t d : from.devices) task->add_devices(d);
    task->set_milli_cpus(from.cpus.value);
    task->set_memory(from.memory.value);
    task->set_state(static_cast<int>(from.state));
    task->set_exit_code(from.exit_code);
    task->set_signal(from.signal);
    task->set_status_lost(from.status_lost);
    task->set_never_started(from.never_started);
    task->set_started_wall_ns(from.started_wall_ns);
    task->set_ended_wall_ns(from.ended_wall_ns);
    task->set_free_port(from.free_port);
    for (const auto& [key, value] : from.values) (*task->mutable_values())[key] = value;
  }
  to.set_go(job.go);
  to.set_stopping_to(static_cast<int>(job.stopping_to));
  to.set_submitted_wall_ns(job.submitted_wall_ns);
  to.set_state_since_wall_ns(job.state_since_wall_ns);
  to.set_started_wall_ns(job.started_wall_ns);
  to.set_ended_wall_ns(job.ended_wall_ns);
  to.set_energy(job.energy.value);
  to.set_exit_code(job.exit_code);
  for (const std::string& line : job.log_tail) to.add_log_tail(line);
  to.set_revision(job.revision);
  to.set_held(job.held);
  to.set_held_by_operator(job.held_by_operator);
  to.set_held_by(job.held_by);
  return to.SerializeAsString();
}

absl::StatusOr<Job> DecodeJob(JobId id, const std::string& spec_bytes, const std::string& job_bytes) {
  store::SpecRecord spec;
  store::JobRecord from;
  if (!spec.ParseFromString(spec_bytes) || !from.ParseFromString(job_bytes)) {
    return Damaged(absl::StrCat("jobs/", id.value));
  }
  Job job;
  job.id = id;
  job.submitter = {spec.uid(), spec.gid(), spec.user()};
  JobSpec& s = job.spec;
  s.name = spec.name();
  s.kind = static_cast<JobKind>(spec.kind());
  s.queue = spec.queue();
  s.pools.assign(spec.pools().begin(), spec.pools().end());
  s.min_workers = spec.min_workers();
  s.max_workers = spec.max_workers();
  for (const auto& d : spec.devices()) s.demand.devices.push_back({d.type(), d.count()});
  s.demand.cpus = {spec.milli_cpus()};
  s.demand.memory = {spec.memory()};
  s.colocation = static_cast<Colocation>(spec.colocation());
  s.time_limit = {spec.time_limit()};
  s.grace = {spec.grace()};
  s.rendezvous = spec.rendezvous();
  s.retry_max = spec.retry_max();
  s.retry_on_signal = spec.retry_on_signal();
  s.retry_on_node_fail = spec.retry_on_node_fail();
  s.body = spec.body();
  job.state = static_cast<JobState>(from.state());
  for (const auto& r : from.reasons()) job.reasons.push_back(Read(r));
  job.run = from.run();
  job.failures = from.failures();
  for (const auto& t : from.tasks()) {
    Task task;
    task.rank = t.rank();
    task.node = {t.node()};
    task.devices.assign(t.devices().begin(), t.devices().end());
    task.cpus = {t.milli_cpus()};
    task.memory = {t.memory()};
    task.state = static_cast<TaskState>(t.state());
    task.exit_code = t.exit_code();
    task.signal = t.signal();
    task.status_lost = t.status_lost();
    task.never_started = t.never_started();
    task.started_wall_ns = t.started_wall_ns();
    task.ended_wall_ns = t.ended_wall_ns();
    task.free_port = t.free_port();
    for (const auto& [key, value] : t.values()) task.values[key] = value;
    job.tasks.push_back(std::move(task));
  }
  job.go = from.go();
  job.stopping_to = static_cast<JobState>(from.stopping_to());
  job.submitted_wall_ns = from.submitted_wall_ns();
  job.state_since_wall_ns = from.state_since_wall_ns();
  job.started_wall_ns = from.started_wall_ns();
  job.ended_wall_ns = from.ended_wall_ns();
  job.energy = {from.energy()};
  job.exit_code = from.exit_code();
  job.log_tail.assign(from.log_tail().begin(), from.log_tail().end());
  job.revision = from.revision();
  job.held = from.held();
  job.held_by_operator = from.held_by_operator();
  job.held_by = from.held_by();
  return job;
}

std::string EncodeNode(const Node& node) {
  store::NodeRecord to;
  to.set_name(node.name);
  to.set_pool(node.pool);
  to.set_state(static_cast<int>(node.state));
  to.set_boot_id(node.boot_id);
  to.set_milli_cpus(node.cpus.value);
  to.set_memory(node.memory.value);
  for (const Device& from : node.devices) {
    auto* device = to.add_devices();
    device->set_type(from.type);
    device->set_uuid(from.uuid);
    device->set_memory(from.memory.value);
    device->set_numa_node(from.numa_node);
    device->set_island(from.island);
    device->set_idle_power(from.idle_power.value);
    device->set_max_power(from.max_power.value);
  }
  to.set_idle_power(node.idle_power.value);
  to.set_max_power(node.max_power.value);
  to.set_info(node.info);
  to.set_registered_wall_ns(node.registered_wall_ns);
  if (node.cordon.on) {
    auto* cordon = to.mutable_cordon();
    cordon->set_draining(node.cordon.draining);
    cordon->set_force(node.cordon.force);
    cordon->set_reason(node.cordon.reason);
    cordon->set_by(node.cordon.by);
    cordon->set_since_wall_ns(node.cordon.since_wall_ns);
    cordon->set_deadline_wall_ns(node.cordon.deadline_wall_ns);
  }
  return to.SerializeAsString();
}

absl::StatusOr<Node> DecodeNode(NodeId id, const std::string& bytes) {
  store::NodeRecord from;
  if (!from.ParseFromString(bytes)) return Damaged(absl::StrCat("node ", id.value));
  Node node;
  node.id = id;
  node.name = from.name();
  node.pool = from.pool();
  node.state = static_cast<NodeState>(from.state());
  node.boot_id = from.boot_id();
  node.cpus = {from.milli_cpus()};
  node.memory = {from.memory()};
  for (const auto& d : from.devices()) {
    node.devices.push_back({.index = static_cast<int32_t>(node.devices.size()),
                            .type = d.type(),
                            .uuid = d.uuid(),
                            .memory = {d.memory()},
                            .numa_node = d.numa_node(),
                            .island = d.island(),
                            .idle_power = {d.idle_power()},
                            .max_power = {d.max_power()}});
  }
  node.idle_power = {from.idle_power()};
  node.max_power = {from.max_power()};
  node.info = from.info();
  node.registered_wall_ns = from.registered_wall_ns();
  if (from.has_cordon()) {
    const auto& c = from.cordon();
    node.cordon = {true, c.draining(), c.force(), c.reason(), c.by(), c.since_wall_ns(), c.deadline_wall_ns()};
  }
  return node;
}

std::string EncodeLog(const JobLogRecord& record) {
  store::LogRecord to;
  to.set_wall_ns(record.wall_ns);
  to.set_state(static_cast<int>(record.state));
  to.set_run(record.run);
  if (record.reason.code != ReasonCode::kUnspecified) Write(record.reason, *to.mutable_reason());
  to.set_text(record.text);
  return to.SerializeAsString();
}

absl::StatusOr<JobLogRecord> DecodeLog(JobId id, const std::string& bytes) {
  store::LogRecord from;
  if (!from.ParseFromString(bytes)) return Damaged(absl::StrCat("a log line of jobs/", id.value));
  JobLogRecord record;
  record.job = id;
  record.wall_ns = from.wall_ns();
  record.state = static_cast<JobState>(from.state());
  record.run = from.run();
  record.reason = Read(from.reason());
  record.text = from.text();
  return record;
}

}  // namespace sinew
