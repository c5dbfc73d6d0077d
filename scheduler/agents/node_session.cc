// SPDX-License-Identifier: Apache-2.0
#include "scheduler/agents/node_session.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "scheduler/agents/task_body.h"

namespace sinew {
namespace {

constexpr int kMaxHeld = 100'000;
constexpr int kMaxDevices = 4096;
constexpr size_t kMaxReportedBytes = 64 << 10;  // of a task's rendezvous values

bool GoodName(const std::string& name) {
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '.' || c == '_';
  });
}

HeldTask::State StateFromWire(const std::string& state) {
  if (state == "ready") return HeldTask::State::kReady;
  if (state == "running") return HeldTask::State::kRunning;
  if (state == "stopping") return HeldTask::State::kStopping;
  if (state == "exited") return HeldTask::State::kExited;
  return HeldTask::State::kPreparing;
}

}  // namespace

absl::StatusOr<Node> NodeFromWire(const std::string& name, const v1::NodeInfo& info) {
  if (!GoodName(name)) {
    return absl::InvalidArgumentError("node: names have 1 to 63 letters, digits, dots, dashes and underscores");
  }
  if (info.devices_size() > kMaxDevices) return absl::InvalidArgumentError("info.devices: at most 4096");
  if (info.milli_cpus() <= 0 || info.milli_cpus() > 1'000'000'000 || info.memory_bytes() < 0) {
    return absl::InvalidArgumentError("info: CPUs and memory are out of range");
  }
  Node node;
  node.name = name;
  node.boot_id = info.boot_id();
  node.cpus = {info.milli_cpus()};
  node.memory = {info.memory_bytes()};
  node.idle_power = {info.idle_milliwatts()};
  node.max_power = {info.max_milliwatts()};
  for (const v1::DeviceInfo& d : info.devices()) {
    if (d.type().empty() || d.type().size() > 63) return absl::InvalidArgumentError("info.devices.type: 1 to 63 bytes");
    node.devices.push_back({.index = static_cast<int32_t>(node.devices.size()),
                            .type = d.type(),
                            .uuid = d.uuid(),
                            .memory = {d.memory_bytes()},
                            .numa_node = d.numa_node(),
                            .island = d.island(),
                            .idle_power = {d.idle_milliwatts()},
                            .max_power = {d.max_milliwatts()}});
  }
  node.info = info.SerializeAsString();
  return node;
}

NodeSession::Out NodeSession::Refuse(const std::string& why) {
  Out out;
  out.send.emplace_back().mutable_refusal()->set_why(why);
  out.close = true;
  return out;
}

NodeSession::Out NodeSession::OnMessage(const v1::AgentMessage& message, int64_t now_ns) {
  last_heard_ns_ = now_ns;
  if (node_.empty() != message.has_register_()) {
    return Refuse(node_.empty() ? "the first message must be register" : "registered twice on one stream");
  }
  switch (message.kind_case()) {
    case v1::AgentMessage::kRegister: return OnRegister(message.register_());
    case v1::AgentMessage::kReport: return node_id_ ? OnReport(message.report()) : Out{};
    case v1::AgentMessage::kProgress: {
      Out out;
      out.progress = {FromWire(message.progress().key()), message.progress().progress()};
      return out;
    }
    case v1::AgentMessage::kFetch: {
      Out out;
      for (const v1::TaskKey& key : message.fetch().keys()) out.fetch.push_back(FromWire(key));
      return out;
    }
    case v1::AgentMessage::kHeartbeat:
    case v1::AgentMessage::KIND_NOT_SET: return {};
  }
  return {};
}

NodeSession::Out NodeSession::OnRegister(const v1::Register& message) {
  if (message.protocol() != 1) {
    return Refuse(absl::StrCat("the agent speaks protocol ", message.protocol(), "; this daemon knows 1"));
  }
  if (message.held_size() > kMaxHeld) return Refuse("the agent holds more tasks than a node can");
  auto node = NodeFromWire(message.node(), message.info());
  if (!node.ok()) return Refuse(std::string(node.status().message()));
  node_ = message.node();
  session_id_ = message.session_id();
  Out out;
  NodeRegisteredEvent event;
  event.node = *std::move(node);
  for (const v1::HeldTask& held : message.held()) {
    const TaskKey key = FromWire(held.key());
    event.held.push_back({key, StateFromWire(held.state()), held.running_for_ns()});
    if (held.digest() == BodyDigest(key)) bodies_there_.insert(key);
  }
  out.registration = std::move(event);
  return out;
}

NodeSession::Out NodeSession::OnRegistered(NodeId id, const std::string& cluster_id) {
  node_id_ = id;
  Out out;
  v1::Welcome* welcome = out.send.emplace_back().mutable_welcome();
  welcome->set_cluster_id(cluster_id);
  welcome->set_heartbeat_ns(kHeartbeatNs);
  return out;
}

NodeSession::Out NodeSession::OnReport(const v1::TaskReport& report) {
  Out out;
  Report posted;
  posted.sequence = report.sequence();
  const TaskKey key = FromWire(report.key());
  switch (report.what_case()) {
    case v1::TaskReport::kReady: {
      TaskReadyEvent event;
      event.node = *node_id_;
      event.key = key;
      event.free_port = report.ready().free_port();
      size_t bytes = 0;
      for (const auto& [name, value] : report.ready().values()) {
        bytes += name.size() + value.size();
        event.values[name] = value;
      }
      if (bytes > kMaxReportedBytes) {
        posted.event = TaskRefusedEvent{*node_id_, key, "its rendezvous values exceed 64 KiB"};
      } else {
        posted.event = std::move(event);
      }
      break;
    }
    case v1::TaskReport::kStarted: posted.event = TaskStartedEvent{*node_id_, key}; break;
    case v1::TaskReport::kExited: {
      const v1::TaskExited& from = report.exited();
      TaskExitedEvent event;
      event.node = *node_id_;
      event.key = key;
      event.exit_code = from.exit_code();
      event.signal = from.signal();
      event.status_lost = from.status_lost();
      event.never_started = from.never_started();
      event.ran_for_ns = from.ran_for_ns();
      for (const std::string& line : from.log_tail()) {
        if (event.log_tail.size() < 20) event.log_tail.push_back(line.substr(0, 1000));
      }
      posted.event = std::move(event);
      break;
    }
    case v1::TaskReport::kRefused:
      posted.event = TaskRefusedEvent{*node_id_, key, report.refused().why().substr(0, 1000)};
      break;
    case v1::TaskReport::WHAT_NOT_SET: return out;
  }
  out.reports.push_back(std::move(posted));
  return out;
}

NodeSession::Out NodeSession::OnCommitted(uint64_t sequence) {
  Out out;
  if (sequence <= acknowledged_) return out;
  acknowledged_ = sequence;
  out.send.emplace_back().mutable_ack()->set_sequence(sequence);
  return out;
}

NodeSession::Out NodeSession::OnDesired(const std::vector<v1::DesiredTask>& desired,
                                        const std::function<v1::TaskBody(const TaskKey&)>& body) {
  Out out;
  if (!node_id_) return out;
  v1::ControllerMessage message;
  v1::DesiredState& state = *message.mutable_desired();
  state.set_full(!told_);
  state.set_base(revision_);
  std::map<TaskKey, std::string> now;
  for (const v1::DesiredTask& task : desired) {
    const TaskKey key = FromWire(task.key());
    std::string bytes = task.SerializeAsString();
    auto old = told_tasks_.find(key);
    if (old == told_tasks_.end() || old->second != bytes || !told_) *state.add_tasks() = task;
    if (bodies_there_.insert(key).second) *state.add_bodies() = body(key);
    now[key] = std::move(bytes);
  }
  for (const auto& [key, bytes] : told_tasks_) {
    if (now.contains(key)) continue;
    *state.add_forget() = ToWire(key);
    bodies_there_.erase(key);
  }
  if (told_ && state.tasks().empty() && state.forget().empty()) return out;
  told_ = true;
  told_tasks_ = std::move(now);
  state.set_revision(++revision_);
  out.send.push_back(std::move(message));
  return out;
}

NodeSession::Out NodeSession::SendBodies(const std::vector<v1::TaskBody>& bodies) {
  Out out;
  v1::Bodies* to = out.send.emplace_back().mutable_bodies();
  for (const v1::TaskBody& body : bodies) *to->add_bodies() = body;
  return out;
}

}  // namespace sinew
