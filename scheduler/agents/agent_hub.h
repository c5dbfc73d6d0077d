// SPDX-License-Identifier: Apache-2.0
// The streams of all agents: moves messages between the machines (node_session.h), the controller and gRPC, and watches
// who falls silent. Logs travel on a stream of their own (log_relay.h).
//
// Threads: Session is called by gRPC, one thread a stream; OnCommitted by the controller's; Tick by a timer's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/synchronization/mutex.h"
#include "proto/sinew/v1/agent.grpc.pb.h"
#include "scheduler/agents/log_relay.h"
#include "scheduler/agents/progress_board.h"
#include "scheduler/controller.h"
#include "base/acceptor.h"

namespace sinew {

class AgentHub final : public v1::AgentControl::Service, public CommitListener {
 public:
  struct Options {
    std::string cluster_id;
    std::set<uint32_t> agent_uids;  // who may act as an agent
  };
  AgentHub(Options options, Controller& controller, ProgressBoard& progress, LogRelay& logs,
           std::function<std::optional<Caller>(const std::string& peer)> caller_of);
  ~AgentHub() override;

  grpc::Status Session(grpc::ServerContext* context,
                       grpc::ServerReaderWriter<v1::ControllerMessage, v1::AgentMessage>* stream) override;
  grpc::Status Bulk(grpc::ServerContext* context, grpc::ServerReaderWriter<v1::BulkDown, v1::BulkUp>* stream) override;

  void OnCommitted(const Transaction& transaction, const Engine& engine) override;
  // About once a second: nodes that fell silent become SUSPECT, later LOST.
  void Tick(int64_t now_mono_ns);
  // When the node was last heard, monotonic; 0 = not since this daemon started.
  int64_t LastHeard(const std::string& node) const;
  // Ends every stream, so that the server can stop.
  void Shutdown();

 private:
  struct Link;
  using LinkPtr = std::shared_ptr<Link>;

  bool MayBeAgent(grpc::ServerContext* context) const;
  void Handle(const LinkPtr& link, const v1::AgentMessage& message);
  void OnRegistrationDurable(const LinkPtr& link);
  void TellDesired(const LinkPtr& link, const Engine& engine);

  Options options_;
  Controller& controller_;
  ProgressBoard& progress_;
  LogRelay& logs_;
  std::function<std::optional<Caller>(const std::string&)> caller_of_;
  const int64_t started_ns_;

  mutable absl::Mutex mutex_;
  std::map<std::string, LinkPtr> links_ ABSL_GUARDED_BY(mutex_);  // by node name; the newest stream of each
  std::map<std::string, int64_t> last_heard_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<LinkPtr> all_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sinew
