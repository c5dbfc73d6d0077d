// SPDX-License-Identifier: Apache-2.0
// The kernel's notation for sets of CPUs and NUMA nodes: "0-3,8". Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sinew::agent {

// Sorted, none twice; "" is the empty set. INVALID_ARGUMENT for anything but numbers from 0 to `highest` and ranges
// of them that ascend.
absl::StatusOr<std::vector<int32_t>> ParseCpuList(const std::string& text, int32_t highest = 65'535);

}  // namespace sinew::agent
