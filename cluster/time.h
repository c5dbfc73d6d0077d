// SPDX-License-Identifier: Apache-2.0
// The time that is handed to the engine with each batch: monotonic for durations, wall for what people see, so that a
// stepped clock moves no timer.
#pragma once

#include <cstdint>

namespace sinew {

struct Now {
  int64_t mono_ns = 0;  // CLOCK_MONOTONIC of this daemon process; means nothing after a restart
  int64_t wall_ns = 0;  // since 1970, UTC
};

}  // namespace sinew
