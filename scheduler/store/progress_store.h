// SPDX-License-Identifier: Apache-2.0
// The newest progress of jobs, in a second database with synchronous=NORMAL: losing its last seconds loses no job. Keeps
// the newest kJobs jobs; a full disk only means that nothing is kept for a while. One thread.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "scheduler/agents/progress_board.h"
#include "scheduler/store/database.h"

namespace sinew {

class ProgressStore {
 public:
  static constexpr int kJobs = 10'000;

  // Made when missing; one that cannot be read is replaced.
  static absl::StatusOr<std::unique_ptr<ProgressStore>> Open(const std::string& path);
  absl::Status Load(ProgressBoard& board);
  void Note(JobId job) { noted_.insert(job); }
  // What was noted, every two seconds, or at once.
  void Write(const ProgressBoard& board, bool now);

 private:
  std::unique_ptr<Database> database_;
  std::set<JobId> noted_;
  int64_t written_ns_ = 0;
};

}  // namespace sinew
