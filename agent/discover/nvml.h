// SPDX-License-Identifier: Apache-2.0
// NVIDIA's GPUs, asked of its management library, which is loaded when it is there: one build for all machines. The
// functions' shapes are NVML's documented C interface. One thread; nothing of the library stays loaded.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/sinew/v1/node.pb.h"

namespace sinew::agent {

using Warn = std::function<void(const std::string&)>;

// The GPUs in NVML's order, indices from 0; of a GPU in MIG mode, its instances. `library` "" looks for
// libnvidia-ml.so.1 where the loader looks, and a machine without it has no GPUs; with a name, what does not load is
// FAILED_PRECONDITION. A GPU that does not answer is left out with a warning; so are all when the driver is not loaded.
// numa_node comes from sysfs below `sysroot`, -1 = the machine does not say.
absl::StatusOr<std::vector<v1::DeviceInfo>> NvidiaDevices(const std::string& library, const std::string& sysroot,
                                                          const Warn& warn);

// A device type from a product name: "Tesla V100-SXM2-32GB" is v100, "NVIDIA GeForce RTX 3090" is rtx-3090,
// "NVIDIA A100-SXM4-40GB MIG 1g.5gb" is a100-1g.5gb.
std::string NvidiaType(const std::string& name);

}  // namespace sinew::agent
