// SPDX-License-Identifier: Apache-2.0
// The Nodes and Cluster services. Everybody who may connect may read them; jobs on a node are named to operators only,
// who alone may change a node.
#pragma once

#include <functional>
#include <string>

#include "proto/sinew/v1/node.grpc.pb.h"
#include "scheduler/controller.h"
#include "scheduler/rpc/identity.h"

namespace sinew {

class NodesService final : public v1::Nodes::Service {
 public:
  // last_heard: monotonic nanoseconds, 0 = never.
  NodesService(Controller& controller, std::function<int64_t(const std::string&)> last_heard, const Identity& identity)
      : controller_(controller), last_heard_(std::move(last_heard)), identity_(identity) {}
  grpc::Status GetNode(grpc::ServerContext*, const v1::GetNodeRequest*, v1::Node*) override;
  grpc::Status ListNodes(grpc::ServerContext*, const v1::ListNodesRequest*, v1::ListNodesResponse*) override;
  grpc::Status CordonNode(grpc::ServerContext*, const v1::CordonNodeRequest*, v1::Node*) override;
  grpc::Status DrainNode(grpc::ServerContext*, const v1::DrainNodeRequest*, v1::Node*) override;
  grpc::Status ResumeNode(grpc::ServerContext*, const v1::ResumeNodeRequest*, v1::Node*) override;

 private:
  // By operators only; answers with the node as it then is.
  grpc::Status Change(grpc::ServerContext* context, const std::string& name, NodeControlEvent event, v1::Node* response);
  grpc::Status Find(const User& user, const std::string& name, v1::Node* response) const;
  v1::Node Show(const Engine& engine, const Node& node, const User& user) const;

  Controller& controller_;
  std::function<int64_t(const std::string&)> last_heard_;
  const Identity& identity_;
};

class ClusterService final : public v1::Cluster::Service {
 public:
  ClusterService(Controller& controller, const Identity& identity) : controller_(controller), identity_(identity) {}
  grpc::Status GetVersion(grpc::ServerContext*, const v1::GetVersionRequest*, v1::GetVersionResponse*) override;

 private:
  Controller& controller_;
  const Identity& identity_;
};

}  // namespace sinew
