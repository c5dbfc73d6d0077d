// SPDX-License-Identifier: Apache-2.0
// Whether and where the workers of a job fit, and what is missing when they do not. Pure functions over what nodes have
// free; used by the place stages and by the engine's check of impossible demands.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cluster/cluster_state.h"
#include "policies/draft.h"

namespace sinew {

// What one node has free.
struct Room {
  NodePtr node;
  MilliCpus cpus;
  Bytes memory;
  std::vector<int32_t> devices;  // free indices, ascending
};

Room EmptyRoom(NodePtr node);  // as if nothing ran there
Room RoomNow(NodePtr node, const NodeUsage& usage);

bool PoolFits(const JobSpec& spec, const Node& node);

enum class Preference { kPack, kSpread };

struct Fitted {
  size_t device_alternative = 0;
  std::vector<TaskPlacement> tasks;  // ranks in order, those of one node together
};

// Alternatives in the job's order, the first that fits. Takes what it places out of `rooms`.
//   pack    one node that holds all and has the least room left; else the nodes with the most room, so that few are used
//   spread  one worker at a time on the node that then has the most room left
// Ties go to the lower node id. Devices come from one island where one has enough, the fullest such island first.
// Cost: O(nodes log nodes + workers).
std::optional<Fitted> Fit(std::vector<Room>& rooms, const JobSpec& spec, int32_t workers, Preference preference);

// What is missing for the first alternative, most telling first; never empty.
std::vector<Reason> WhyNot(const std::vector<Room>& rooms, const JobSpec& spec, int32_t workers);

}  // namespace sinew
