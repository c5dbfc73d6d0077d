// SPDX-License-Identifier: Apache-2.0
// What cgroups leave of a machine to this process: an agent in a container must not promise more.
#pragma once

#include <cstdint>
#include <string>

namespace sinew::agent {

struct Limits {
  int64_t milli_cpus = INT64_MAX;    // INT64_MAX: no limit
  int64_t memory_bytes = INT64_MAX;
};

// The smallest quota of the process's cgroups and their ancestors, v1 and v2, read below `sysroot`. What is not there,
// or cannot be read, is no limit.
Limits CgroupLimits(const std::string& sysroot);

}  // namespace sinew::agent
