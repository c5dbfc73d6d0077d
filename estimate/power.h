// SPDX-License-Identifier: Apache-2.0
// Modelled energy of a task where nothing was measured: its devices at their maximum power, and its share of the node's
// dynamic power by CPUs, for as long as it ran. An upper estimate for tasks that keep their devices busy; a node that
// says nothing of its power counts as zero.
#pragma once

#include "cluster/job.h"
#include "cluster/node.h"

namespace sinew {

inline Milliwatts TaskPower(const Node& node, const Task& task) {
  Milliwatts power;
  for (const int32_t d : task.devices) {
    if (d >= 0 && static_cast<size_t>(d) < node.devices.size()) power += node.devices[d].max_power;
  }
  const int64_t dynamic = node.max_power.value - node.idle_power.value;
  if (node.cpus.value > 0 && dynamic > 0) {
    power += {static_cast<int64_t>(static_cast<__int128>(dynamic) * task.cpus.value / node.cpus.value)};
  }
  return power;
}

// ran_ns below zero (a stepped clock) counts as zero.
inline Millijoules TaskEnergy(const Node& node, const Task& task, int64_t ran_ns) {
  if (ran_ns <= 0) return {};
  return {static_cast<int64_t>(static_cast<__int128>(TaskPower(node, task).value) * ran_ns / 1'000'000'000)};
}

}  // namespace sinew
