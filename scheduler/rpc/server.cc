// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>

#include <chrono>

namespace sinew {
namespace {

constexpr int kMaxMessage = 1 << 20;
constexpr int kMaxThreads = 2048;  // a stream holds one

}  // namespace

RpcServer::RpcServer(UniqueFd listener, Acceptor::Options options)
    : acceptor_(std::make_unique<Acceptor>(options, std::move(listener), [this](int fd) {
        grpc::AddInsecureChannelFromFd(server_.get(), fd);
      })) {}

RpcServer::~RpcServer() { Stop(0); }

absl::Status RpcServer::Start(const std::vector<grpc::Service*>& services) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  for (grpc::Service* service : services) builder.RegisterService(service);
  grpc::ResourceQuota quota("sinewd");
  quota.SetMaxThreads(kMaxThreads);
  quota.Resize(512 << 20);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(kMaxMessage);
  builder.SetMaxSendMessageSize(16 << 20);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 100);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8 << 10);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 600'000);
  server_ = builder.BuildAndStart();
  if (!server_) return absl::InternalError("gRPC would not start");
  acceptor_->Start();
  SetServing(true);
  return absl::OkStatus();
}

void RpcServer::SetServing(bool serving) {
  if (server_ && server_->GetHealthCheckService()) server_->GetHealthCheckService()->SetServingStatus(serving);
}

void RpcServer::Stop(int grace_ms) {
  if (!server_) return;
  acceptor_->Stop();
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(grace_ms));
  server_.reset();
}

}  // namespace sinew
