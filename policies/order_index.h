// SPDX-License-Identifier: Apache-2.0
// The order of waiting jobs: a keyed index that the engine keeps. An order stage sets keys of changed jobs only; ties
// go to the older job.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "cluster/ids.h"

namespace sinew {

struct OrderKey {
  std::array<int64_t, 3> parts = {0, 0, 0};  // smaller runs first, part by part
  auto operator<=>(const OrderKey&) const = default;
};

class OrderIndex {
 public:
  void Set(JobId job, OrderKey key) {
    Erase(job);
    keys_[job] = key;
    ranked_.insert({key, job});
  }
  void Erase(JobId job) {
    auto it = keys_.find(job);
    if (it == keys_.end()) return;
    ranked_.erase({it->second, job});
    keys_.erase(it);
  }
  // Ascending: the job to run first comes first.
  const std::set<std::pair<OrderKey, JobId>>& ranked() const { return ranked_; }
  bool Contains(JobId job) const { return keys_.contains(job); }

 private:
  absl::flat_hash_map<JobId, OrderKey> keys_;
  std::set<std::pair<OrderKey, JobId>> ranked_;
};

}  // namespace sinew
