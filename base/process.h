// SPDX-License-Identifier: Apache-2.0
// Other programs of Sinew: where they are, how they are started, and word to the service manager. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace sinew {

// The path of a program that belongs to this one: beside argv[0] as it was given, beside the file that runs, or where
// the build leaves it (scheduler, agent, agent/launcher, cli, trainer). NOT_FOUND names the folders looked in.
absl::StatusOr<std::string> FindSibling(const std::string& name);

struct SpawnOptions {
  std::string program;                           // a path; never looked up in PATH
  std::vector<std::string> argv;                 // argv[0] included
  const std::vector<std::string>* env = nullptr; // null = this process's environment
  std::vector<std::pair<int, int>> fds;          // (descriptor here, number there); all others must be close-on-exec
  bool new_session = false;
  bool block_signals = false;                    // else starts with none blocked; handlers are the default ones anyway
};
struct Spawned {
  pid_t pid = 0;
  UniqueFd pidfd;
};
// Returns once the program was executed; its failure to execute is the error, with the path. Costs no copy of this
// process's memory. The caller reaps.
absl::StatusOr<Spawned> Spawn(const SpawnOptions& options);

// One datagram to $NOTIFY_SOCKET ("READY=1", "WATCHDOG=1", "STATUS=..."); nothing without it.
void SdNotify(const std::string& state);
// Half of the interval in which the service manager wants WATCHDOG=1; 0 = it does not.
long WatchdogPingMs();

}  // namespace sinew
