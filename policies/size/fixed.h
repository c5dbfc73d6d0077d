// SPDX-License-Identifier: Apache-2.0
// Every job runs with as many workers as it asked for. A job whose size no stage proposed in a pass has this size too.
//
// Cost: O(1) a job that arrived.
#pragma once

#include "policies/stage.h"

namespace sinew {

class FixedSize final : public Stage {
 public:
  Needs needs() const override { return {.triggers = Needs::kJobs, .reads = Needs::kCluster, .writes = Needs::kRun}; }
  absl::Status Run(const View& view, const Changes& changes, const Answers& answers, StageState& state,
                   Draft& draft) const override {
    const auto propose = [&](JobId id) {
      const JobPtr job = view.cluster().FindJob(id);
      if (!job || job->state != JobState::kPending) return;
      RunProposal proposal;
      proposal.workers = job->spec.max_workers;
      draft.Decide(id, proposal);
    };
    if (changes.everything) {
      for (const JobId id : view.cluster().pending()) propose(id);
    } else {
      for (const JobId id : changes.jobs) propose(id);
    }
    return absl::OkStatus();
  }
};

}  // namespace sinew
