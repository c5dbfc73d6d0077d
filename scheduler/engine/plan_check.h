// SPDX-License-Identifier: Apache-2.0
// The engine's own check of what stages propose: whatever a stage says, no gang starts in part, nothing is booked twice,
// nothing runs where it may not or does not fit. A refused proposal costs that proposal only.
#pragma once

#include <map>
#include <vector>

#include "absl/status/status.h"
#include "cluster/cluster_state.h"
#include "policies/draft.h"

namespace sinew {

// Checks the proposals of one draft one after the other; what was accepted counts as taken for those that follow.
class PlanCheck {
 public:
  explicit PlanCheck(const ClusterState& state) : state_(state) {}

  // OK: the proposal may start and is counted. Otherwise the status says what is wrong, and nothing is counted.
  absl::Status Take(const Job* job, const RunProposal& proposal);

 private:
  struct Taken {
    MilliCpus cpus;
    Bytes memory;
    std::vector<bool> devices;
  };
  Taken& Of(const Node& node);

  const ClusterState& state_;
  std::map<NodeId, Taken> taken_;
};

}  // namespace sinew
