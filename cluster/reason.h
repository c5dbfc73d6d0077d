// SPDX-License-Identifier: Apache-2.0
// Why a job waits or ended: a closed enum with its numbers, never a free sentence. Numbers equal sinew.v1.ReasonCode;
// which fields belong to which code is said there. Text is made at the edge.
#pragma once

#include <cstdint>
#include <string>

namespace sinew {

enum class ReasonCode : uint8_t {
  kUnspecified = 0,
  kNotYetConsidered = 1,
  kNoNodes = 2,
  kNodesUnavailable = 3,
  kInsufficientDevices = 4,
  kInsufficientCpus = 5,
  kInsufficientMemory = 6,
  kBehindInQueue = 7,
  kStartTimedOut = 8,
  kPolicyError = 9,
  kRetrying = 10,
  kHeld = 11,
  kRequeued = 12,
  kSucceeded = 20,
  kTaskExited = 21,
  kTaskSignalled = 22,
  kUserCancelled = 23,
  kTimeLimitReached = 24,
  kNodeLost = 25,
  kStartRefused = 26,
  kTaskStatusLost = 27,
  kNeverSatisfiable = 28,
  kNodeDrained = 29,
};

struct Reason {
  ReasonCode code = ReasonCode::kUnspecified;
  int64_t needed = 0;
  int64_t best_node_free = 0;
  int64_t total_free = 0;
  int64_t nodes_excluded = 0;
  std::string device_type;
  int64_t position = 0;
  int32_t rank = 0;
  std::string node;
  int32_t exit_code = 0;
  int32_t signal = 0;
  std::string detail;  // a path or an errno text

  bool operator==(const Reason&) const = default;
};

}  // namespace sinew
