// SPDX-License-Identifier: Apache-2.0
// Signals as events of a poll loop. Call before any thread is started: threads inherit the mask.
#pragma once

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace sinew {

// Blocks SIGTERM, SIGINT and SIGHUP, ignores SIGPIPE, and gives a non-blocking signalfd that tells of the three.
absl::StatusOr<UniqueFd> TakeSignals();

// The next signal of that descriptor; 0 when there is none.
int NextSignal(int signal_fd);

}  // namespace sinew
