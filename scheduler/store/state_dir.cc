// SPDX-License-Identifier: Apache-2.0
#include "scheduler/store/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/errno_status.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "scheduler/store/sqlite_store.h"

namespace sinew {

std::string DatabasePath(const std::string& dir) { return dir + "/sinew.db"; }

absl::Status InitStateDir(const std::string& dir) {
  RETURN_IF_ERROR(MakeFolders(dir, 0700));
  if (::access(DatabasePath(dir).c_str(), F_OK) == 0) {
    return absl::AlreadyExistsError(absl::StrCat("state_dir ", dir, " already holds a state; nothing was changed"));
  }
  // Made under another name, so that a crash leaves no half-made database under the right one.
  const std::string fresh = dir + "/new.db";
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((fresh + suffix).c_str());
  RETURN_IF_ERROR(SqliteStore::Create(fresh));
  if (::rename(fresh.c_str(), DatabasePath(dir).c_str()) != 0) return ErrnoStatus("rename", fresh);
  return FsyncDir(dir);
}

absl::StatusOr<UniqueFd> LockStateDir(const std::string& dir) {
  if (::access(DatabasePath(dir).c_str(), F_OK) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("state_dir ", dir, " holds no state. If this cluster is new, make one: sinewd --config FILE --init. ",
                     "If it had one, its disk may not be mounted"));
  }
  const std::string path = dir + "/lock";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus("open", path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    char pid[32] = "";
    const ssize_t n = ::pread(fd.get(), pid, sizeof(pid) - 1, 0);
    return absl::FailedPreconditionError(absl::StrCat("another sinewd (pid ", n > 0 ? pid : "unknown",
                                                      ") runs on state_dir ", dir, "; stop it first"));
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(fd.get(), 0) != 0 || ::pwrite(fd.get(), pid.data(), pid.size(), 0) < 0) {
    // The lock holds all the same; a full disk must not keep the daemon from starting.
  }
  return fd;
}

}  // namespace sinew
