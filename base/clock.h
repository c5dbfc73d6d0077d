// SPDX-License-Identifier: Apache-2.0
// Clocks of the kernel in nanoseconds. Any thread.
#pragma once

#include <time.h>

#include <cstdint>

namespace sinew {

inline std::int64_t ClockNs(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
inline std::int64_t MonoNs() { return ClockNs(CLOCK_MONOTONIC); }
inline std::int64_t WallNs() { return ClockNs(CLOCK_REALTIME); }
// Counts through suspend; starts anew with each boot.
inline std::int64_t BootNs() { return ClockNs(CLOCK_BOOTTIME); }

}  // namespace sinew
