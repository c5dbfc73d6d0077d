// SPDX-License-Identifier: Apache-2.0
// What a job means where it says nothing. The command line shows it (--dry-run), the daemon applies it to every submit.
#pragma once

#include <cstdint>
#include <string>

#include "proto/sinew/v1/spec.pb.h"

namespace sinew {

inline constexpr int64_t kDefaultMilliCpus = 1000;
inline constexpr int64_t kDefaultGraceNs = 30'000'000'000;
inline constexpr char kDefaultCheckpointDir[] = "checkpoints/%j";

// Fills in what is unset; changes nothing that was given. Applying it twice is applying it once.
void ApplyDefaults(v1::JobSpec& spec);

// Replaces %j by the job's id, %r by the rank, %a by the attempt and %% by %. For outputs and the checkpoint folder.
std::string ExpandPattern(const std::string& pattern, uint64_t job, int32_t rank, uint32_t attempt);

// Absolute folder that holds the checkpoints of all attempts of a train job; "" for other kinds.
std::string CheckpointFolder(const v1::JobSpec& spec, uint64_t job);

}  // namespace sinew
