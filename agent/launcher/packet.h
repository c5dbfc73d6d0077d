// SPDX-License-Identifier: Apache-2.0
// The size of a packet between the agent and the launcher.
#pragma once

#include <cstddef>

namespace sinew::launcher {
inline constexpr std::size_t kMaxPacket = 256 << 10;
}  // namespace sinew::launcher
