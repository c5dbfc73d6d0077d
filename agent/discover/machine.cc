// SPDX-License-Identifier: Apache-2.0
#include "agent/discover/machine.h"

#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "agent/discover/knl.h"
#include "agent/discover/limits.h"
#include "base/status_macros.h"

namespace sinew::agent {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

absl::StatusOr<Topology> Load(const std::string& sysroot) {
  if (!sysroot.empty()) {
    if (::access(sysroot.c_str(), R_OK | X_OK) != 0) {
      return absl::InvalidArgumentError("--sysroot " + sysroot + ": " + std::strerror(errno));
    }
    ::setenv("HWLOC_FSROOT", sysroot.c_str(), 1);
    ::setenv("HWLOC_THISSYSTEM", "0", 1);
    ::setenv("HWLOC_COMPONENTS", "linux,stop", 1);
  }
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return absl::InternalError("hwloc does not start");
  Topology topology(raw);
  if (hwloc_topology_load(raw) != 0) return absl::InternalError("hwloc cannot read this machine");
  return topology;
}

// The CPUs that this process may use; those of a sysroot are another machine's.
std::vector<int32_t> AllowedCpus(hwloc_topology_t topology, bool this_machine) {
  std::vector<int32_t> cpus;
  hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology);
  hwloc_bitmap_t bound = hwloc_bitmap_alloc();
  const bool restricted = this_machine && hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS) == 0;
  for (int cpu = hwloc_bitmap_first(allowed); cpu >= 0; cpu = hwloc_bitmap_next(allowed, cpu)) {
    if (!restricted || hwloc_bitmap_isset(bound, static_cast<unsigned>(cpu)) != 0) cpus.push_back(cpu);
  }
  hwloc_bitmap_free(bound);
  return cpus;
}

void AddNuma(hwloc_topology_t topology, const std::vector<KernelNuma>& kernel, const std::vector<int32_t>& allowed,
             v1::NodeInfo& node) {
  for (hwloc_obj_t at = nullptr; (at = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, at)) != nullptr;) {
    v1::NumaNode& numa = *node.add_numa();
    numa.set_index(static_cast<int32_t>(at->os_index));
    numa.set_memory_bytes(static_cast<int64_t>(at->attr->numanode.local_memory));
    // hwloc gives memory without CPUs those next to it; the kernel's list tells which is which.
    const auto same = std::find_if(kernel.begin(), kernel.end(), [&](const KernelNuma& k) { return k.index == numa.index(); });
    if (same != kernel.end() && same->cpus.empty()) continue;
    for (const int32_t cpu : allowed) {
      if (hwloc_bitmap_isset(at->cpuset, static_cast<unsigned>(cpu)) != 0) numa.add_cpus(cpu);
    }
    node.set_memory_bytes(node.memory_bytes() + numa.memory_bytes());
  }
}

void AddKnl(const KnlModes& modes, v1::NodeInfo& node) {
  node.set_knl_cluster_mode(modes.cluster);
  node.set_knl_memory_mode(modes.memory);
  node.set_knl_mode_source(modes.source);
  for (const v1::NumaNode& numa : node.numa()) {
    if (numa.cpus_size() == 0) continue;
    v1::DeviceInfo& device = *node.add_devices();
    device.set_index(node.devices_size() - 1);
    device.set_type("knl");
    device.set_numa_node(numa.index());
    device.set_memory_bytes(numa.memory_bytes());
  }
}

}  // namespace

absl::StatusOr<v1::NodeInfo> DiscoverMachine(const MachineOptions& options) {
  ASSIGN_OR_RETURN(const Topology topology, Load(options.sysroot));
  v1::NodeInfo node;
  const std::vector<int32_t> allowed = AllowedCpus(topology.get(), options.sysroot.empty());
  const std::vector<KernelNuma> kernel = ReadKernelNuma(options.sysroot);
  AddNuma(topology.get(), kernel, allowed, node);
  if (const char* model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology.get()), "CPUModel")) {
    node.set_cpu_model(model);
  } else if (hwloc_obj_t package = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PACKAGE, 0); package != nullptr) {
    if (const char* of_package = hwloc_obj_get_info_by_name(package, "CPUModel")) node.set_cpu_model(of_package);
  }
  node.mutable_cpu_model()->erase(node.cpu_model().find_last_not_of(' ') + 1);  // some pad it

  const Limits limits = CgroupLimits(options.sysroot);
  node.set_milli_cpus(std::min<int64_t>(static_cast<int64_t>(allowed.size()) * 1000, limits.milli_cpus));
  node.set_memory_bytes(std::min(node.memory_bytes(), limits.memory_bytes));
  if (node.milli_cpus() <= 0) return absl::InternalError("hwloc finds no CPU that this process may use");

  if (const auto modes = ReadKnl(options.sysroot, kernel)) AddKnl(*modes, node);
  ASSIGN_OR_RETURN(std::vector<v1::DeviceInfo> gpus,
                   NvidiaDevices(options.nvml_library, options.sysroot, options.warn));
  for (v1::DeviceInfo& gpu : gpus) {
    gpu.set_index(node.devices_size());
    *node.add_devices() = std::move(gpu);
  }
  return node;
}

}  // namespace sinew::agent
