// SPDX-License-Identifier: Apache-2.0
// Copies of the state: verified, and put back only where there is none. A copy is one SQLite file without a journal.
// Progress of running jobs is not part of it. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinew {

struct StateFacts {
  std::string cluster_id;
  int schema = 0;
  uint64_t revision = 0;
  int64_t jobs = 0;
  int64_t live_jobs = 0;
  int64_t nodes = 0;
  int64_t bytes = 0;
};

// Reads every record of a file that no daemon works on, and SQLite checks its structure. DATA_LOSS when it is damaged or
// no state, FAILED_PRECONDITION when a newer version wrote it, NOT_FOUND.
absl::StatusOr<StateFacts> CheckState(const std::string& path);

// Puts a copy into a state directory, made if need be. The next job's number is then the next million and one, as numbers
// after the copy may be in use on nodes. ALREADY_EXISTS when it holds a state. Failing, leaves nothing.
absl::StatusOr<StateFacts> RestoreState(const std::string& copy, const std::string& dir);

}  // namespace sinew
