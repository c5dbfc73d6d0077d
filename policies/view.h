// SPDX-License-Identifier: Apache-2.0
// What a stage may read: a snapshot of the cluster at one moment, and what changed in it since that stage last ran.
// A view reads the engine's indices; making one copies nothing. It is valid only during Stage::Run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/cluster_state.h"
#include "cluster/time.h"
#include "policies/order_index.h"

namespace sinew {

// Why a part of the last plan was refused by the engine.
struct Rejection {
  JobId job;
  std::string why;
};

class View {
 public:
  View(const ClusterState& cluster, const OrderIndex& order, Now now, uint64_t epoch, uint64_t seed,
       const std::vector<Rejection>& rejections)
      : cluster_(cluster), order_(order), now_(now), epoch_(epoch), seed_(seed), rejections_(rejections) {}

  uint64_t epoch() const { return epoch_; }  // of the state; an answer computed from an older one may be stale
  Now now() const { return now_; }
  uint64_t seed() const { return seed_; }    // the only source of randomness a stage may use
  const ClusterState& cluster() const { return cluster_; }
  // Waiting jobs by the keys that earlier stages set, as of the start of this pass.
  const OrderIndex& order() const { return order_; }
  const std::vector<Rejection>& rejections() const { return rejections_; }

 private:
  const ClusterState& cluster_;
  const OrderIndex& order_;
  Now now_;
  uint64_t epoch_;
  uint64_t seed_;
  const std::vector<Rejection>& rejections_;
};

// Different since the stage's last run that was committed. Ids may repeat a job that is gone by now.
struct Changes {
  bool everything = false;         // first run, or state was lost: look at all
  bool timer = false;              // a wake-up it asked for is due
  std::vector<JobId> jobs;         // arrived, or changed state
  std::vector<NodeId> nodes;       // registered, changed state, or what they have free changed
};

// The answer to a question this stage put: see Draft::Ask.
struct Answer {
  std::string tag;
  uint64_t asked_at_epoch = 0;
  bool timed_out = false;
  std::string body;
};
using Answers = std::vector<Answer>;

}  // namespace sinew
