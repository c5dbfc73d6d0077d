// SPDX-License-Identifier: Apache-2.0
#include "scheduler/store/progress_store.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/status_macros.h"

namespace sinew {
namespace {

constexpr char kSchema[] =
    "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
    "CREATE TABLE IF NOT EXISTS progress(job INTEGER NOT NULL, rank INTEGER NOT NULL, run INTEGER NOT NULL, "
    "record BLOB NOT NULL, PRIMARY KEY(job, rank)) WITHOUT ROWID;";

absl::StatusOr<std::unique_ptr<Database>> OpenDatabase(const std::string& path) {
  ASSIGN_OR_RETURN(auto database, Database::Open(path, Database::Mode::kCreate, ""));
  RETURN_IF_ERROR(database->Execute(kSchema));
  return database;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProgressStore>> ProgressStore::Open(const std::string& path) {
  auto database = OpenDatabase(path);
  if (absl::IsDataLoss(database.status())) {
    for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
    database = OpenDatabase(path);
  }
  auto store = std::make_unique<ProgressStore>();
  if (database.ok()) store->database_ = *std::move(database);
  return store;
}

absl::Status ProgressStore::Load(ProgressBoard& board) {
  if (!database_) return absl::OkStatus();
  ASSIGN_OR_RETURN(Statement rows, database_->Prepare("SELECT job,rank,run,record FROM progress ORDER BY job,rank"));
  JobId id;
  JobProgress progress;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, rows.Step());
    const JobId next{more ? static_cast<uint64_t>(rows.Int(0)) : 0};
    if (next != id) {
      if (id.value != 0) board.Restore(id, std::move(progress));
      progress = JobProgress{};
      id = next;
    }
    if (!more) break;
    progress.run = static_cast<uint32_t>(rows.Int(2));
    progress.ranks[static_cast<int32_t>(rows.Int(1))].ParseFromString(rows.Text(3));
  }
  rows.Reset();
  return absl::OkStatus();
}

void ProgressStore::Write(const ProgressBoard& board, bool now) {
  const int64_t time = MonoNs();
  if (!database_ || noted_.empty() || (!now && time - written_ns_ < 2'000'000'000)) return;
  written_ns_ = time;
  const auto write = [&]() -> absl::Status {
    RETURN_IF_ERROR(database_->Execute("BEGIN"));
    for (const JobId job : noted_) {
      const JobProgress progress = board.Of(job);
      ASSIGN_OR_RETURN(Statement put,
                       database_->Prepare("INSERT OR REPLACE INTO progress(job,rank,run,record) VALUES(?,?,?,?)"));
      for (const auto& [rank, p] : progress.ranks) {
        put.Bind(1, static_cast<int64_t>(job.value));
        put.Bind(2, int64_t{rank});
        put.Bind(3, int64_t{progress.run});
        put.BindBlob(4, p.SerializeAsString());
        RETURN_IF_ERROR(put.Run());
      }
    }
    ASSIGN_OR_RETURN(Statement drop, database_->Prepare("DELETE FROM progress WHERE job<(SELECT MAX(job) FROM progress)-?"));
    drop.Bind(1, int64_t{kJobs});
    RETURN_IF_ERROR(drop.Run());
    return database_->Execute("COMMIT");
  };
  if (write().ok()) {
    noted_.clear();
  } else {
    (void)database_->Execute("ROLLBACK");
  }
}

}  // namespace sinew
