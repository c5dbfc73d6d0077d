// SPDX-License-Identifier: Apache-2.0
// Where what was acknowledged is kept. The seam is this interface; SQLite is the embedded default
// (scheduler/store/sqlite_store.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/engine/engine.h"
#include "scheduler/engine/transaction.h"

namespace sinew {

class Store {
 public:
  virtual ~Store() = default;

  // All of the transaction, durably, or nothing. Errors:
  //   RESOURCE_EXHAUSTED  disk full: nothing was written, may be tried again later
  //   DATA_LOSS           the disk failed a sync or read: the caller must stop the process, never retry
  // Called by one thread.
  virtual absl::Status Commit(const Transaction& transaction) = 0;

  virtual absl::StatusOr<RestoredState> Load(size_t ended_jobs) = 0;

  // History. Thread-safe.
  virtual absl::StatusOr<std::optional<Job>> FindJob(JobId id) = 0;
  // Newest first, ended jobs only, before `before` (0 = from the newest). uid filter when given.
  virtual absl::StatusOr<std::vector<Job>> EndedJobs(std::optional<uint32_t> uid, uint64_t before, int limit) = 0;
  struct LogLine {
    uint64_t revision = 0;
    JobLogRecord record;
  };
  virtual absl::StatusOr<std::vector<LogLine>> JobLog(JobId id, uint64_t after_revision, int limit) = 0;

  // Deletes jobs that ended before that time, with their events. Looks at `jobs` of them, oldest first, and goes on where
  // it stopped; how many it deleted. Errors as of Commit. Thread-safe.
  virtual absl::StatusOr<int> Prune(int64_t ended_before_wall_ns, int jobs) = 0;

  // A copy of all that is committed, in a new file; commits go on meanwhile. Thread-safe. Failing, leaves no file.
  virtual absl::Status Backup(const std::string& path) = 0;
};

}  // namespace sinew
