// SPDX-License-Identifier: Apache-2.0
// Logs of tasks, read from the agents that keep them, over each agent's bulk stream. The daemon stores none of it.
//
// A reader that is slow holds back the agent's stream for at most kPatience, then is cut off. Threads: any.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "proto/sinew/v1/agent.grpc.pb.h"

namespace sinew {

class LogRelay {
 public:
  static constexpr size_t kMaxQueuedBytes = 1 << 20;  // for one reader
  static constexpr absl::Duration kPatience = absl::Seconds(20);

  // One reading. Destroying it ends it at the agent too.
  class Reading {
   public:
    ~Reading();
    struct Chunk {
      std::string data;
      bool end = false;
      std::string error;  // with end
    };
    // False when nothing came in that time.
    bool Next(Chunk& chunk, absl::Duration patience);

   private:
    friend class LogRelay;
    struct Queue;
    std::shared_ptr<Queue> queue_;
    LogRelay* relay_ = nullptr;
    std::string node_;
    uint64_t request_ = 0;
  };

  // UNAVAILABLE when the node's agent is not connected.
  absl::StatusOr<std::unique_ptr<Reading>> Read(const std::string& node, const v1::ReadLog& what);

  // Runs an agent's bulk stream until it ends.
  grpc::Status Serve(grpc::ServerContext* context, grpc::ServerReaderWriter<v1::BulkDown, v1::BulkUp>* stream);
  void Shutdown();

 private:
  struct Agent;
  void Finish(const std::string& node, uint64_t request);

  absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<Agent>> agents_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_request_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sinew
