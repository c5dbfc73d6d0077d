// SPDX-License-Identifier: Apache-2.0
// First in, first out: the job submitted first runs first; a job that is tried again keeps its place.
//
// Cost: O(log n) a job that arrived; untouched jobs cost nothing.
#pragma once

#include "policies/stage.h"

namespace sinew {

class Fifo final : public Stage {
 public:
  Needs needs() const override { return {.triggers = Needs::kJobs, .reads = Needs::kCluster, .writes = Needs::kOrder}; }
  absl::Status Run(const View& view, const Changes& changes, const Answers& answers, StageState& state,
                   Draft& draft) const override {
    if (changes.everything) {
      for (const JobId id : view.cluster().pending()) draft.SetOrder(id, {});  // ties go to the older job
      return absl::OkStatus();
    }
    for (const JobId id : changes.jobs) {
      if (view.cluster().pending().contains(id)) draft.SetOrder(id, {});
    }
    return absl::OkStatus();
  }
};

}  // namespace sinew
