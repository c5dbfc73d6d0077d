// SPDX-License-Identifier: Apache-2.0
// The daemon's state directory: made once by an explicit act, locked while a daemon runs on it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace sinew {

// Makes the directory (0700), if need be, and an empty database of the current schema in it.
// ALREADY_EXISTS when there is a database: nothing is overwritten.
absl::Status InitStateDir(const std::string& dir);

// Takes the lock. FAILED_PRECONDITION with what to do: the state is missing (it is never made silently), or another
// daemon, whose pid is named, holds it. The lock lives as long as the descriptor.
absl::StatusOr<UniqueFd> LockStateDir(const std::string& dir);

std::string DatabasePath(const std::string& dir);

}  // namespace sinew
