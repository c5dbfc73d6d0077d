// SPDX-License-Identifier: Apache-2.0
// The workers of one job, as they exchange parameters: the only thing that the training loop knows of a network.
//
// Threads: one object belongs to one thread at a time. All ranks make the same calls in the same order.
#pragma once

#include <algorithm>
#include <span>

#include "absl/status/status.h"

namespace sinew::trainer {

class Group {
 public:
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Every rank gives `mine`, of the same length everywhere, and has the others' in `all` afterwards, rank after rank
  // (all.size() == size() * mine.size()). Nothing is computed on the way: sums over `all` have the same bits on every
  // rank, whatever the transport does. UNAVAILABLE when a peer is gone or did not answer in time; the group is of no
  // use after that.
  virtual absl::Status AllGather(std::span<const float> mine, std::span<float> all) = 0;
};

// For a job of one worker.
class SingleGroup final : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  absl::Status AllGather(std::span<const float> mine, std::span<float> all) override {
    std::copy(mine.begin(), mine.end(), all.begin());
    return absl::OkStatus();
  }
};

}  // namespace sinew::trainer
