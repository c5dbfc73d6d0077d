// SPDX-License-Identifier: Apache-2.0
// `sinew run` after the submit: shows a job until it ends. Outlives restarts of the daemon for a minute.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "cli/client.h"
#include "proto/sinew/v1/job.pb.h"

namespace sinew::cli {

// What `sinew run` exits with: 0, or the job's own exit status, or 1.
int ExitCodeOfJob(const v1::Job& job);

// Output of a command job goes to stdout and stderr as it comes; all else goes to stderr, redrawn in place when that is a
// terminal; the result of a train job goes to stdout. Ctrl-C leaves the job running and returns kInterrupted.
absl::StatusOr<int> Follow(Client& client, const v1::Job& submitted);

// One log, in order, to `out`; lines of several ranks begin with "[rank] ". Used by `sinew logs` too.
class LogPrinter {
 public:
  LogPrinter(bool prefixed, int out) : prefixed_(prefixed), out_(out) {}
  void Take(const v1::LogChunk& chunk);
  void Finish();    // lines without an end

 private:
  void Write(const std::string& text);
  struct Rank {
    std::string open;   // prefixed: the line that is not ended yet
  };
  const bool prefixed_;
  const int out_;
  std::map<int, Rank> ranks_;
};

}  // namespace sinew::cli
