// SPDX-License-Identifier: Apache-2.0
// `sinew up` and `sinew down`: a cluster of the user's own daemons on this machine, without root or configuration.
#pragma once

#include "absl/status/statusor.h"
#include "cli/options.h"

namespace sinew::cli {

// Starts what does not run yet and waits until every node is UP. Prints where things are. Refuses to make a new state
// where there was one that is gone.
absl::StatusOr<int> Up(const Options& options);

// Cancels the jobs that have not ended (unless keep_jobs), then stops agents, launchers and the daemon.
absl::StatusOr<int> Down(const Options& options);

}  // namespace sinew::cli
