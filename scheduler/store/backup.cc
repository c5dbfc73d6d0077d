// SPDX-License-Identifier: Apache-2.0
#include "scheduler/store/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/errno_status.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "scheduler/store/sqlite_store.h"
#include "scheduler/store/state_dir.h"

namespace sinew {

absl::StatusOr<StateFacts> CheckState(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus("open", path);
  const auto damaged = [&](const absl::Status& why) {
    if (absl::IsFailedPrecondition(why)) return why;
    return absl::DataLossError(absl::StrCat(path, " is damaged, or no state of Sinew: ", std::string(why.message())));
  };
  auto store = SqliteStore::Open(path, "", SqliteStore::Mode::kReadOnly);
  if (!store.ok()) return damaged(store.status());
  const auto contents = (*store)->ReadEverything();
  if (!contents.ok()) return damaged(contents.status());
  StateFacts facts;
  facts.cluster_id = (*store)->cluster_id();
  facts.schema = SqliteStore::kSchemaVersion;
  facts.revision = contents->revision;
  facts.jobs = contents->jobs;
  facts.live_jobs = contents->live_jobs;
  facts.nodes = contents->nodes;
  facts.bytes = info.st_size;
  return facts;
}

absl::StatusOr<StateFacts> RestoreState(const std::string& copy, const std::string& dir) {
  ASSIGN_OR_RETURN(StateFacts facts, CheckState(copy));
  RETURN_IF_ERROR(MakeFolders(dir, 0700));
  const std::string target = DatabasePath(dir), fresh = dir + "/restored.db";
  if (::access(target.c_str(), F_OK) == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("state_dir ", dir, " already holds a state; nothing was changed. Move it away first"));
  }
  // What a journal of another database would do to this one.
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    if (::access((target + suffix).c_str(), F_OK) == 0)
      return absl::AlreadyExistsError(absl::StrCat(target, suffix, " is there without its database; move it away first"));
  }
  // Agents may hold tasks of jobs that were submitted after the backup: their numbers are never given again.
  const auto skip_numbers = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(auto database, Database::Open(fresh, Database::Mode::kReadWrite, ""));
    return database->Execute(
        "PRAGMA synchronous=FULL; UPDATE meta SET value=CAST((CAST(value AS INTEGER)/1000000+1)*1000000 AS TEXT) "
        "WHERE key='last_job';");
  };
  std::error_code error;
  std::filesystem::copy_file(copy, fresh, std::filesystem::copy_options::overwrite_existing, error);
  absl::Status status;
  if (error) status = ErrnoStatus("write", fresh, error.value());
  if (status.ok()) status = skip_numbers();
  if (status.ok()) {
    const UniqueFd file(::open(fresh.c_str(), O_RDWR | O_CLOEXEC));
    if (!file.valid() || ::fchmod(file.get(), 0600) != 0 || ::fsync(file.get()) != 0) status = ErrnoStatus("sync", fresh);
  }
  if (status.ok()) status = CheckState(fresh).status();
  if (status.ok() && ::rename(fresh.c_str(), target.c_str()) != 0) status = ErrnoStatus("rename", fresh);
  if (!status.ok()) {
    ::unlink(fresh.c_str());
    return status;
  }
  RETURN_IF_ERROR(FsyncDir(dir));
  return facts;
}

}  // namespace sinew
