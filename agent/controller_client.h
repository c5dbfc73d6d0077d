// SPDX-License-Identifier: Apache-2.0
// The agent's stream to the daemon: opened, kept open, opened again with growing pauses. Threads: one of its own reads,
// one writes; what comes is told on the reading thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "proto/sinew/v1/agent.grpc.pb.h"

namespace sinew::agent {

// A channel to the daemon's socket that tries again within a second.
std::shared_ptr<grpc::Channel> DaemonChannel(const std::string& socket);

// Waits between attempts: from 100 ms, doubling, to 5 s, each a little random so that a thousand agents spread out.
class Backoff {
 public:
  explicit Backoff(uint64_t seed) : state_(seed | 1) {}
  int64_t NextMs();
  void Reset() { ms_ = 100; }

 private:
  uint64_t state_;
  int64_t ms_ = 100;
};

class ControllerClient {
 public:
  struct Events {
    // A stream is open; its number is to be named when sending. Then messages in order, then its end with the reason.
    std::function<void(uint64_t stream)> connected;
    std::function<void(uint64_t stream, v1::ControllerMessage message)> message;
    std::function<void(uint64_t stream, std::string why)> disconnected;
  };

  ControllerClient(std::shared_ptr<grpc::Channel> channel, Events events);
  ~ControllerClient();

  void Start();
  void Stop();

  // Dropped when that stream is not the open one: what matters is repeated on the next. A daemon that reads nothing is
  // given up once kMaxQueued messages wait; progress is dropped from a quarter of that.
  void Send(uint64_t stream, std::vector<v1::AgentMessage> messages);
  // Ends that stream and opens another.
  void Restart(uint64_t stream);

 private:
  static constexpr size_t kMaxQueued = 20'000;
  struct Stream;

  void Loop();
  std::string RunStream(uint64_t number, bool& heard);
  bool Pause(int64_t ms);

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AgentControl::Stub> stub_;
  Events events_;
  std::thread thread_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<Stream> open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sinew::agent
