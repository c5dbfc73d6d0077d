// SPDX-License-Identifier: Apache-2.0
// sinewd.yaml. Reading is strict: errors name file, line, column, key and what is accepted.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "policies/registry.h"

namespace sinew {

struct ConfiguredNode {
  std::string name;
  std::string pool = "default";
};

struct Config {
  std::string state_dir;
  std::string socket = "/run/sinew/sinewd.sock";
  int64_t socket_mode = 0666;       // who may connect; what each may do follows from who they are
  std::set<uint32_t> agent_uids;    // who may act as an agent; the daemon's own user when none is named
  PolicySpec policy;                // the default when no file is named
  std::vector<ConfiguredNode> nodes;  // their pools; nodes that are not named are in "default"
  std::string log_level = "info";
  int64_t start_limit_ns = 60'000'000'000;
  int64_t keep_jobs_ns = int64_t{30} * 24 * 3600 * 1'000'000'000;  // that ended
};

// Paths in the file are relative to the file's folder.
absl::StatusOr<Config> ReadConfig(const std::string& path);

}  // namespace sinew
