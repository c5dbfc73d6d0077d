// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rpc/nodes_service.h"

#include <algorithm>

#include "base/clock.h"
#include "base/version.h"
#include "scheduler/rpc/ask.h"
#include "scheduler/rpc/convert.h"
#include "scheduler/rpc/errors.h"

namespace sinew {
namespace {

constexpr size_t kMaxReason = 1024;
constexpr int64_t kMaxDeadlineNs = int64_t{365} * 24 * 3600 * 1'000'000'000;

std::string ShortName(const std::string& name) { return name.starts_with("nodes/") ? name.substr(6) : name; }

}  // namespace

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
  return Find(*user, ShortName(request->name()), response);
}

grpc::Status NodesService::Find(const User& user, const std::string& name, v1::Node* response) const {
  bool found = false;
  controller_.Read([&](const Engine& engine) {
    if (const NodePtr node = engine.state().FindNode(name)) {
      found = true;
      *response = Show(engine, *node, user);
    }
  });
  return found ? grpc::Status::OK : ToGrpc(absl::NotFoundError("there is no node " + name.substr(0, 80)));
}

grpc::Status NodesService::Change(grpc::ServerContext* context, const std::string& name, NodeControlEvent event,
                                  v1::Node* response) {
  const auto user = identity_.Of(context->peer());
  if (!user.ok()) return ToGrpc(user.status());
  if (!user->operator_) {
    return ToGrpc(absl::PermissionDeniedError("only root and the daemon's own user may change nodes; you are " + user->name));
  }
  if (event.reason.size() > kMaxReason) return InvalidFields({{"reason", "at most 1024 bytes"}});
  event.caller = user->name;
  event.node = ShortName(name);
  const CallerAnswer answer = Ask(controller_, event);
  return answer.status.ok() ? Find(*user, event.node, response) : ToGrpc(answer.status);
}

grpc::Status NodesService::CordonNode(grpc::ServerContext* context, const v1::CordonNodeRequest* request,
                                      v1::Node* response) {
  return Change(context, request->name(), {.verb = NodeControlEvent::Verb::kCordon, .reason = request->reason()}, response);
}

grpc::Status NodesService::DrainNode(grpc::ServerContext* context, const v1::DrainNodeRequest* request,
                                     v1::Node* response) {
  if (request->reason().empty()) {
    return InvalidFields({{"reason", "must be there, so that others know why the node is drained"}});
  }
  NodeControlEvent event{.verb = NodeControlEvent::Verb::kDrain, .reason = request->reason(), .force = request->force()};
  if (request->has_deadline_ns()) {
    if (request->deadline_ns() < 0 || request->deadline_ns() > kMaxDeadlineNs) {
      return InvalidFields({{"deadline", "must be 0 to 365 days"}});
    }
    event.deadline_ns = request->deadline_ns();
  }
  return Change(context, request->name(), std::move(event), response);
}

grpc::Status NodesService::ResumeNode(grpc::ServerContext* context, const v1::ResumeNodeRequest* request,
                                      v1::Node* response) {
  return Change(context, request->name(), {.verb = NodeControlEvent::Verb::kResume}, response);
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
  controller_.Read([&](const Engine& engine) {
    response->set_policy(engine.policy_name());
    response->set_policy_error(engine.policy_error());
  });
  response->set_caller_uid(user->uid);
  response->set_caller_user(user->name);
  response->set_caller_operator(user->operator_);
  return grpc::Status::OK;
}

}  // namespace sinew
