// SPDX-License-Identifier: Apache-2.0
// A machine of the cluster and its devices, as its agent registered it or the configuration described it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/ids.h"
#include "cluster/units.h"

namespace sinew {

struct Device {
  int32_t index = 0;  // on its node; equal to its position in Node::devices
  std::string type;   // "v100", "knl", "cpu-slot"
  std::string uuid;
  Bytes memory;
  int32_t numa_node = -1;
  int32_t island = 0;  // devices of one island talk fastest (NVLink, NUMA)
  Milliwatts idle_power;
  Milliwatts max_power;

  bool operator==(const Device&) const = default;
};

// Numbers equal sinew.v1.NodeState.
enum class NodeState : uint8_t {
  kConfigured = 1,  // named in the configuration, never registered
  kUp = 2,
  kSuspect = 3,  // silent for a while: nothing new is placed on it
  kLost = 4,     // silent for long: its tasks may still run there, so what they hold stays held
};

// Set by an operator: nothing new is placed on the node until it is taken back.
struct Cordon {
  bool on = false;
  bool draining = false;           // the node is to be emptied
  bool force = false;              // at the deadline, also of jobs that may not run again
  std::string reason;
  std::string by;
  int64_t since_wall_ns = 0;
  int64_t deadline_wall_ns = 0;    // of a drain: what runs there then is stopped; 0 = none

  bool operator==(const Cordon&) const = default;
};

struct Node {
  NodeId id;
  std::string name;
  std::string pool = "default";
  NodeState state = NodeState::kConfigured;
  std::string boot_id;
  MilliCpus cpus;
  Bytes memory;
  std::vector<Device> devices;
  Milliwatts idle_power;  // without its devices
  Milliwatts max_power;
  std::string info;              // serialized sinew.v1.NodeInfo, opaque to the core
  int64_t registered_wall_ns = 0;  // 0 = never
  Cordon cordon;

  bool operator==(const Node&) const = default;
};

// Whether something new may be placed on it.
inline bool TakesWork(const Node& node) { return node.state == NodeState::kUp && !node.cordon.on; }

}  // namespace sinew
