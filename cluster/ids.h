// SPDX-License-Identifier: Apache-2.0
// Names of things in the cluster.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>

namespace sinew {

struct JobId {
  uint64_t value = 0;  // from 1, in the order of submission
  auto operator<=>(const JobId&) const = default;
};

struct NodeId {
  uint32_t value = 0;  // dense index into ClusterState, stable for the life of the state directory
  auto operator<=>(const NodeId&) const = default;
};

// One process of one run of a job. A report about an old run changes nothing.
struct TaskKey {
  JobId job;
  uint32_t run = 0;  // from 1
  int32_t rank = 0;
  auto operator<=>(const TaskKey&) const = default;
};

template <typename H>
H AbslHashValue(H h, JobId id) {
  return H::combine(std::move(h), id.value);
}
template <typename H>
H AbslHashValue(H h, NodeId id) {
  return H::combine(std::move(h), id.value);
}
template <typename H>
H AbslHashValue(H h, const TaskKey& key) {
  return H::combine(std::move(h), key.job, key.run, key.rank);
}

}  // namespace sinew
