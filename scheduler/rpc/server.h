// SPDX-License-Identifier: Apache-2.0
// The gRPC server of the daemon: services on connections that our own acceptor hands over, with health and reflection.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "base/acceptor.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace sinew {

class RpcServer {
 public:
  RpcServer(UniqueFd listener, Acceptor::Options options);
  ~RpcServer();

  std::optional<Caller> CallerOf(const std::string& peer) const { return acceptor_->CallerOf(peer); }
  absl::Status Start(const std::vector<grpc::Service*>& services);
  // Whether grpc.health.v1 says SERVING.
  void SetServing(bool serving);
  // Takes no new connections, gives calls that run `grace_ms`, then ends them.
  void Stop(int grace_ms);

 private:
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace sinew
