// SPDX-License-Identifier: Apache-2.0
// Daemons that outlive the command line. A process is known by its pid and the time it started, so that a pid used again
// is never taken for it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinew::cli {

struct Process {
  std::string name;       // "sinewd", "agent-n1"
  pid_t pid = 0;
  uint64_t started = 0;   // clock ticks after boot, of /proc/<pid>/stat
};

bool IsAlive(const Process& process);

// In a session of its own, with stdin from /dev/null and output appended to `log`. NOT_FOUND when there is no such program.
absl::StatusOr<Process> Spawn(const std::string& name, const std::vector<std::string>& argv, const std::string& log);

// Runs to the end and takes the exit status; 128 + signal.
absl::StatusOr<int> RunToEnd(const std::vector<std::string>& argv, const std::string& log);

// SIGTERM, then SIGKILL after `patience_ms`. Returns when it is gone.
void Stop(const Process& process, int patience_ms);

// A program of Sinew: beside this one, or where Bazel puts it. NOT_FOUND names the places.
absl::StatusOr<std::string> FindProgram(const std::string& name);

// The record of what runs: one line each. A missing file is an empty record.
absl::StatusOr<std::vector<Process>> ReadRecord(const std::string& path);
absl::Status WriteRecord(const std::string& path, const std::vector<Process>& processes);

// Kills every sinew-shim with an argument below `folder`, and all that descends from it. Returns how many processes.
int KillShims(const std::string& folder);

// The last non-empty lines of a file, "" when it cannot be read.
std::string LastLines(const std::string& path, int lines);

}  // namespace sinew::cli
