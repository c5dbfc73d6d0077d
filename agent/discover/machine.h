// SPDX-License-Identifier: Apache-2.0
// The machine as it is: CPUs, memory and NUMA nodes by hwloc, Knights Landing by its family and NUMA nodes, GPUs by
// NVML, less what affinity and cgroups keep from this process. Call it before there are threads: with a sysroot it sets
// hwloc's environment variables.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "agent/discover/nvml.h"
#include "proto/sinew/v1/node.pb.h"

namespace sinew::agent {

struct MachineOptions {
  std::string sysroot;       // "" = this machine; else a folder with the /proc and /sys of another
  std::string nvml_library;  // "" = libnvidia-ml.so.1, if there is one
  Warn warn = [](const std::string&) {};
};

// Devices are the GPUs; on a Knights Landing one "knl" for each NUMA node that has CPUs. Power is 0: not known.
// INTERNAL when hwloc cannot read the machine; FAILED_PRECONDITION for a library that does not load.
absl::StatusOr<v1::NodeInfo> DiscoverMachine(const MachineOptions& options);

}  // namespace sinew::agent
