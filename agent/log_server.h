// SPDX-License-Identifier: Apache-2.0
// Answers the daemon's questions for logs over the agent's bulk stream. Threads: one of its own reads what is asked,
// one pumps all readings in turn, a chunk of each, so that a long log holds up no short one.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "agent/log_file.h"
#include "agent/session/session.h"
#include "proto/sinew/v1/agent.grpc.pb.h"

namespace sinew::agent {

// Where a task's output is.
struct LogPlace {
  std::string path;
  std::optional<uid_t> owner;  // of a path that the job chose
  bool ended = false;          // it grows no more
  std::string error;           // nothing can be read, and why
};

class LogServer {
 public:
  // Called on the pumping thread.
  using Locate = std::function<LogPlace(const Key& key, bool errors)>;

  LogServer(std::shared_ptr<grpc::Channel> channel, std::string node, std::string session_id, Locate locate);
  ~LogServer();
  void Start();
  void Stop();

 private:
  static constexpr size_t kChunk = 64 << 10;
  using Rpc = grpc::ClientReaderWriter<v1::BulkUp, v1::BulkDown>;
  struct Reading {
    v1::ReadLog what;
    std::optional<LogFile> file;
    int64_t looked_ns = 0;  // when the place was last asked for
    bool cancelled = false;
  };

  void Loop();
  void RunStream();
  void Ask(const v1::BulkDown& down);
  void Pump(Rpc& rpc);
  // True when bytes were sent; `over` when the reading is done with.
  bool Step(Rpc& rpc, uint64_t request, Reading& reading, bool& over);
  bool Send(Rpc& rpc, uint64_t request, std::string data, bool end, std::string error = "");

  std::unique_ptr<v1::AgentControl::Stub> stub_;
  std::shared_ptr<grpc::Channel> channel_;
  const std::string node_;
  const std::string session_id_;
  const Locate locate_;
  std::thread thread_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;            // the stream in hand
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::map<uint64_t, std::shared_ptr<Reading>> readings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sinew::agent
