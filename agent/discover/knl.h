// SPDX-License-Identifier: Apache-2.0
// Knights Landing (and Mill): is it one, and how is it set up? The modes decide where memory and threads go, and change
// only with a reboot. Pure reading below a folder; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sinew::agent {

// A NUMA node as the kernel shows it. No CPUs: memory only, which is how KNL shows its MCDRAM.
struct KernelNuma {
  int32_t index = 0;
  std::vector<int32_t> cpus;
  int64_t memory_bytes = 0;
};

// The online nodes below sysroot, by index; empty when the kernel shows none.
std::vector<KernelNuma> ReadKernelNuma(const std::string& sysroot);

struct KnlModes {
  std::string cluster;  // quadrant, hemisphere, all2all, snc2, snc4
  std::string memory;   // cache, flat, hybrid25, hybrid50
  std::string source;   // smbios: hwloc-dump-hwdata wrote them down at boot. guessed: from the NUMA nodes, which cannot
                        // tell quadrant, hemisphere and all2all apart
};

// nullopt when the processor is none (GenuineIntel, family 6, model 87 or 133).
std::optional<KnlModes> ReadKnl(const std::string& sysroot, const std::vector<KernelNuma>& numa);

}  // namespace sinew::agent
