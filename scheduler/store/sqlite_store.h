// SPDX-License-Identifier: Apache-2.0
// The store over SQLite: WAL with synchronous=FULL, one connection that holds the file exclusively (so no shared-memory
// file that a full disk could take away), one SQLite transaction for each Commit.
//
// Threads: Commit by one thread; every other method by any.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "scheduler/store/database.h"
#include "scheduler/store/store.h"

namespace sinew {

class SqliteStore final : public Store {
 public:
  static constexpr int kSchemaVersion = 1;

  static absl::Status Create(const std::string& path);
  // FAILED_PRECONDITION when a newer version of Sinew wrote the file.
  using Mode = Database::Mode;
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path, const std::string& vfs = "",
                                                           Mode mode = Mode::kReadWrite);

  absl::Status Commit(const Transaction& transaction) override;
  absl::StatusOr<RestoredState> Load(size_t ended_jobs) override;
  absl::StatusOr<std::optional<Job>> FindJob(JobId id) override;
  absl::StatusOr<std::vector<Job>> EndedJobs(std::optional<uint32_t> uid, uint64_t before, int limit) override;
  absl::StatusOr<std::vector<LogLine>> JobLog(JobId id, uint64_t after_revision, int limit) override;

  absl::StatusOr<int> Prune(int64_t ended_before_wall_ns, int jobs) override;
  absl::Status Backup(const std::string& path) override;
  struct Contents {
    uint64_t revision = 0;
    int64_t jobs = 0, live_jobs = 0, nodes = 0;
  };
  // Reads every record, one at a time, after SQLite's integrity_check; the first thing that is wrong is the error.
  absl::StatusOr<Contents> ReadEverything();

  const std::string& cluster_id() const { return cluster_id_; }

 private:
  explicit SqliteStore(std::unique_ptr<Database> database) : database_(std::move(database)) {}
  absl::Status Write(const Transaction& transaction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  std::unique_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
  int64_t pruned_to_ ABSL_GUARDED_BY(mutex_) = 0;  // the job that Prune looked at last
  std::string cluster_id_;
};

}  // namespace sinew
