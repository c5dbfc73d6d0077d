// SPDX-License-Identifier: Apache-2.0
// What a task wrote, as a file that may still grow. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace sinew::agent {

class LogFile {
 public:
  // Opened for reading, at the start of its last `tail_lines` lines; 0 = all of it. Where `owner` is given the file must
  // belong to that user and be no link: a job's own output path is the user's to choose, and the agent lends nobody its
  // eyes. NOT_FOUND while there is none; PERMISSION_DENIED with what to do.
  static absl::StatusOr<LogFile> Open(const std::string& path, std::optional<uid_t> owner, int64_t tail_lines);

  // Goes on with the last `bytes` bytes at most.
  void KeepLast(off_t bytes);

  // Up to `limit` bytes more; "" = nothing more now.
  absl::StatusOr<std::string> Read(size_t limit);

 private:
  UniqueFd fd_;
  std::string path_;
  off_t offset_ = 0;
};

// The last lines for a report: at most `lines` of at most 400 bytes, control characters made visible. Empty when the
// file cannot be read.
std::vector<std::string> LastLines(const std::string& path, std::optional<uid_t> owner, int lines);

}  // namespace sinew::agent
