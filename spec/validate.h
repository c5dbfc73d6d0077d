// SPDX-License-Identifier: Apache-2.0
// Whether a job makes sense by itself: ranges, names, contradictions. Whether the cluster could ever hold it is the
// daemon's question. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "proto/sinew/v1/spec.pb.h"

namespace sinew {

inline constexpr size_t kMaxEnvBytes = 128 << 10;
inline constexpr int kMaxWorkers = 10'000;

struct Violation {
  std::string field;    // key path of job.yaml: "algorithm.name", "run"
  std::string message;  // "is "x"; known are ..."
};

// Of a spec with its defaults applied. Empty = valid.
std::vector<Violation> Validate(const v1::JobSpec& spec);

// Names that a train job may use.
const std::vector<std::string>& KnownModels();
const std::vector<std::string>& KnownAlgorithms();

}  // namespace sinew
