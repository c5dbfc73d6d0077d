// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rpc/nodes_service.h"

#include <algorithm>

#include "base/clock.h"
#include "base/version.h"
#include "scheduler/rpc/convert.h"
#include "scheduler/rpc/errors.h"

namespace sinew {

v1::Node NodesService::Show(const Engine& engine, const Node& node, const User& user) const {
  v1::Node shown = ToWire(node, engine.state().usage(node.id));
  if (const int64_t heard = last_heard_(node.name); heard != 0) {
    *shown.mutable_last_heard() = ToTimestamp(WallNs() - (MonoNs() - heard));
  }
  if (!user.operator_) shown.clear_jobs();
  return shown;
}

grpc::Status NodesService::GetNode(grpc::ServerContext* context, const v1::GetNodeRequest* request, v1::Node* response) {
  const auto user = identity_.Of(context->peer());
  if (!user.ok()) return ToGrpc(user.status());
  const std::string name = request->name().starts_with("nodes/") ? request->name().substr(6) : request->name();
  bool found = false;
  controller_.Read([&](const Engine& engine) {
    if (const NodePtr node = engine.state().FindNode(name)) {
      found = true;
      *response = Show(engine, *node, *user);
    }
  });
  return found ? grpc::Status::OK : ToGrpc(absl::NotFoundError("there is no node " + name.substr(0, 80)));
}

grpc::Status NodesService::ListNodes(grpc::ServerContext* context, const v1::ListNodesRequest* request,
                                     v1::ListNodesResponse* response) {
  const auto user = identity_.Of(context->peer());
  if (!user.ok()) return ToGrpc(user.status());
  if (request->page_size() < 0) return InvalidFields({{"page_size", "must not be negative"}});
  const size_t size = request->page_size() == 0 ? 100 : std::min(request->page_size(), 1000);
  size_t from = 0;
  if (!request->page_token().empty() && (from = JobNumber(request->page_token())) == 0) {
    return InvalidFields({{"page_token", "is not one that this service gave"}});
  }
  controller_.Read([&](const Engine& engine) {
    const auto& nodes = engine.state().nodes();
    for (size_t i = from; i < nodes.size() && i < from + size; ++i) {
      *response->add_nodes() = Show(engine, *nodes[i], *user);
    }
    if (from + size < nodes.size()) response->set_next_page_token(std::to_string(from + size));
  });
  return grpc::Status::OK;
}

grpc::Status ClusterService::GetVersion(grpc::ServerContext* context, const v1::GetVersionRequest*,
                                        v1::GetVersionResponse* response) {
  const auto user = identity_.Of(context->peer());
  if (!user.ok()) return ToGrpc(user.status());
  response->set_version(kVersion);
  response->set_api_version("sinew.v1");
  controller_.Read([&](const Engine& engine) { response->set_policy(engine.policy_name()); });
  response->set_caller_uid(user->uid);
  response->set_caller_user(user->name);
  return grpc::Status::OK;
}

}  // namespace sinew
