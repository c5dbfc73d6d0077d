// SPDX-License-Identifier: Apache-2.0
// The stages `pack` and `spread`: place waiting jobs strictly in order.
//
//  1. Walk the waiting jobs by their order keys.
//  2. A job that fits now is placed (policies/place/fit.h says where).
//  3. A job that does not fit now, but would on the nodes that are up were they empty, waits, and nothing behind it may
//     start in its pools: a large job is never starved by small ones.
//  4. A job that the nodes that are up could not hold even when empty is passed over: it waits for nodes to come.
// At most kMaxStarts jobs start in a pass; the stage then asks to be woken at once.
//
// Cost: O(nodes) a job that starts or is passed over; jobs behind a blocked head cost nothing.
#pragma once

#include "policies/place/fit.h"
#include "policies/stage.h"

namespace sinew {

class PlaceInOrder final : public Stage {
 public:
  static constexpr int kMaxStarts = 256;

  explicit PlaceInOrder(Preference preference) : preference_(preference) {}
  Needs needs() const override {
    return {.triggers = Needs::kJobs | Needs::kNodes | Needs::kTimer,
            .reads = Needs::kCluster,
            .writes = Needs::kRun | Needs::kWait | Needs::kWakeUp};
  }
  absl::Status Run(const View& view, const Changes& changes, const Answers& answers, StageState& state,
                   Draft& draft) const override;

 private:
  Preference preference_;
};

}  // namespace sinew
