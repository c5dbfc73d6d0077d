// SPDX-License-Identifier: Apache-2.0
// The daemon's end of one agent's stream: a machine without I/O, threads or clocks. The shell hands in what came and
// what became true, and sends and posts what comes out.
//
// Protocol (proto/sinew/v1/agent.proto): the agent registers and hears nothing before that is durable; then Welcome, the
// full desired state, and differences to it. Each report is acknowledged once it is durable; reports that come again
// are posted again, which changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/sinew/v1/agent.pb.h"
#include "scheduler/engine/engine.h"

namespace sinew {

inline constexpr int64_t kHeartbeatNs = 2'000'000'000;
inline constexpr int64_t kSuspectAfterNs = 10'000'000'000;
inline constexpr int64_t kLostAfterNs = 60'000'000'000;

class NodeSession {
 public:
  struct Report {
    Event event;
    uint64_t sequence = 0;  // to acknowledge when durable; 0 = none
  };
  struct Out {
    std::vector<v1::ControllerMessage> send;
    std::optional<NodeRegisteredEvent> registration;  // to post; then call OnRegistered
    std::vector<Report> reports;                      // to post in this order
    std::optional<std::pair<TaskKey, v1::Progress>> progress;
    std::vector<TaskKey> fetch;                       // bodies to send through SendBodies
    bool close = false;
  };

  Out OnMessage(const v1::AgentMessage& message, int64_t now_ns);
  // The registration is durable and the node has this id.
  Out OnRegistered(NodeId id, const std::string& cluster_id);
  Out OnCommitted(uint64_t sequence);
  // What the node should hold now; `body` makes the body of a task the agent has not seen.
  Out OnDesired(const std::vector<v1::DesiredTask>& desired, const std::function<v1::TaskBody(const TaskKey&)>& body);
  Out SendBodies(const std::vector<v1::TaskBody>& bodies);

  const std::string& node() const { return node_; }
  const std::string& session_id() const { return session_id_; }
  std::optional<NodeId> node_id() const { return node_id_; }
  int64_t last_heard_ns() const { return last_heard_ns_; }

 private:
  static Out Refuse(const std::string& why);
  Out OnRegister(const v1::Register& message);
  Out OnReport(const v1::TaskReport& report);

  std::string node_;
  std::string session_id_;
  std::optional<NodeId> node_id_;
  int64_t last_heard_ns_ = 0;
  uint64_t revision_ = 0;
  bool told_ = false;
  std::map<TaskKey, std::string> told_tasks_;  // what was sent of each, serialized
  std::set<TaskKey> bodies_there_;
  uint64_t acknowledged_ = 0;
};

// Of what an agent found. Refuses what no agent of ours says: names, sizes, counts.
absl::StatusOr<Node> NodeFromWire(const std::string& name, const v1::NodeInfo& info);

}  // namespace sinew
