// SPDX-License-Identifier: Apache-2.0
// The task runtime (proto/sinew/v1/runtime.proto) on the agent's unix socket. Any user of the node may connect; a
// stream is a task's only if it comes from the task's user (or root) and names its token.
//
// Threads: each stream has one that reads and one that writes. Events are told on the reading one; Tell from any.
#pragma once

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "agent/session/session.h"
#include "base/acceptor.h"
#include "proto/sinew/v1/runtime.grpc.pb.h"

namespace sinew::agent {

class RuntimeServer : public v1::TaskRuntime::Service {
 public:
  static constexpr size_t kMaxValueBytes = 32 << 10;  // of all that one rank sets

  struct Events {
    // OK when the token is that task's and the user is the task's; otherwise what is wrong.
    std::function<grpc::Status(const Key& key, const std::string& token, uid_t uid)> admit;
    std::function<void(const Key& key, std::map<std::string, std::string> values)> values;
    // There is something to TakeProgress; not told again before it was taken.
    std::function<void()> progress;
  };

  RuntimeServer(std::string socket, Events events);
  ~RuntimeServer() override;

  // ALREADY_EXISTS when another agent listens there.
  absl::Status Start();
  void Stop();

  // To the task's newest stream; dropped without one.
  void Tell(const Key& key, v1::RuntimeMessage message);

  // The newest of each task that reported since the last call: a task that floods costs no more than one that does not.
  std::map<Key, v1::Progress> TakeProgress();

  grpc::Status Connect(grpc::ServerContext* context,
                       grpc::ServerReaderWriter<v1::RuntimeMessage, v1::TaskMessage>* stream) override;

 private:
  struct Link;

  const std::string socket_;
  const Events events_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Acceptor> acceptor_;
  absl::Mutex mutex_;
  std::map<Key, std::shared_ptr<Link>> links_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, v1::Progress> progress_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sinew::agent
