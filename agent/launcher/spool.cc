// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "agent/launcher/validate.h"
#include "base/errno_status.h"
#include "base/files.h"
#include "base/status_macros.h"

namespace sinew::launcher {
namespace {

absl::Status WriteNew(const std::string& path, const void* data, std::size_t size, mode_t mode) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd.valid()) return ErrnoStatus("create", path);
  const ssize_t n = ::write(fd.get(), data, size);
  if (n < 0) return ErrnoStatus("write", path);
  if (static_cast<std::size_t>(n) != size) return ErrnoStatus("write", path, ENOSPC);
  return absl::OkStatus();
}

absl::Status MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return ErrnoStatus("make folder", path);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadOrMakeId(const std::string& path) {
  if (auto id = ReadFile(path, 64); id.ok() && id->size() == 16) return id;
  unsigned char bytes[8];
  if (::getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) return ErrnoStatus("read", "random bytes");
  std::string id;
  for (const unsigned char byte : bytes) {
    char text[3];
    std::snprintf(text, sizeof(text), "%02x", byte);
    id += text;
  }
  RETURN_IF_ERROR(WriteFileAtomic(path, id));
  return id;
}

}  // namespace

absl::StatusOr<Spool> Spool::Open(const std::string& dir) {
  Spool spool;
  spool.dir_ = dir;
  RETURN_IF_ERROR(MakeFolders(dir));
  struct stat info;
  if (::stat(dir.c_str(), &info) != 0) return ErrnoStatus("look at", dir);
  if (info.st_uid != ::geteuid() || (info.st_mode & 0022) != 0)
    return absl::FailedPreconditionError("spool " + dir + ": must belong to the user of the launcher, and nobody else "
                                         "may write to it");
  const std::string lock = dir + "/launcher.lock";
  spool.lock_.reset(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!spool.lock_.valid()) return ErrnoStatus("open", lock);
  // A launcher that was just killed may leave a child that has not been executed yet, and still holds it.
  int held = -1;
  for (int tries = 0; tries < 40 && (held = ::flock(spool.lock_.get(), LOCK_EX | LOCK_NB)) != 0; ++tries)
    ::usleep(50'000);
  if (held != 0) return absl::FailedPreconditionError("spool " + dir + ": another launcher works on it");
  RETURN_IF_ERROR(MakeFolder(spool.log_dir()));
  ASSIGN_OR_RETURN(spool.id_, ReadOrMakeId(dir + "/id"));

  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDir(spool.log_dir()));
  std::vector<std::pair<std::int64_t, std::string>> aged;
  for (const std::string& name : names)
    if (IsTaskName(name) && ::lstat((spool.log_dir() + "/" + name).c_str(), &info) == 0)
      aged.emplace_back(std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec, name);
  std::sort(aged.begin(), aged.end());
  for (auto& [age, name] : aged) spool.log_folders_.push_back(std::move(name));
  return spool;
}

absl::StatusOr<std::vector<std::string>> Spool::Tasks() const {
  ASSIGN_OR_RETURN(std::vector<std::string> names, ListDir(dir_));
  names.erase(std::remove_if(names.begin(), names.end(), [](const std::string& n) { return !IsTaskName(n); }),
              names.end());
  return names;
}

absl::StatusOr<UniqueFd> Spool::Create(const std::string& task, const std::string& start_task) {
  const std::string folder = Folder(task);
  RETURN_IF_ERROR(MakeFolder(folder));
  absl::Status status = WriteNew(folder + "/task", start_task.data(), start_task.size(), 0600);
  UniqueFd lock;
  if (status.ok()) {
    // Last, so that a folder with a lock is a whole one; and of its full size, so that a full disk is met here.
    const std::string path = folder + "/lock";
    lock.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
    const ShimRecord empty = {};
    if (!lock.valid() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) status = ErrnoStatus("lock", path);
    else if (::pwrite(lock.get(), &empty, sizeof(empty), 0) != sizeof(empty)) status = ErrnoStatus("write", path);
  }
  if (status.ok()) return lock;
  Remove(task);
  return status;
}

absl::StatusOr<std::string> Spool::ReadTask(const std::string& task) const {
  return ReadFile(Folder(task) + "/task", 2 * kMaxPacket);
}

absl::StatusOr<Spool::Logs> Spool::OpenLogs(const std::string& task, uid_t owner, gid_t group) {
  const std::string folder = log_dir() + "/" + task;
  const bool made = ::mkdir(folder.c_str(), 0755) == 0;
  if (!made && errno != EEXIST) return ErrnoStatus("make folder", folder);
  Logs logs;
  for (auto& [fd, name] : {std::pair<UniqueFd*, const char*>{&logs.out, "/stdout"}, {&logs.err, "/stderr"}}) {
    const std::string path = folder + name;
    fd->reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640));
    if (!fd->valid()) return ErrnoStatus("open", path);
    if (owner != static_cast<uid_t>(-1) && ::fchown(fd->get(), owner, group) != 0)
      return ErrnoStatus("change the owner of", path);
  }
  if (made) log_folders_.push_back(task);
  for (int i = 0; i < 2 && log_folders_.size() > kMaxLogFolders; ++i) {
    const std::string old = std::move(log_folders_.front());
    log_folders_.pop_front();
    if (::access(Folder(old).c_str(), F_OK) == 0) {  // not forgotten yet
      log_folders_.push_back(old);
      continue;
    }
    for (const char* name : {"/stdout", "/stderr", ""}) std::remove((log_dir() + "/" + old + name).c_str());
  }
  return logs;
}

Spool::Shim Spool::Probe(const std::string& task, ShimRecord* record) const {
  *record = {};
  UniqueFd fd(::open((Folder(task) + "/lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return Shim::kNone;
  const bool alive = ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (::pread(fd.get(), record, sizeof(*record), 0) != sizeof(*record) || record->magic != kRecordMagic) *record = {};
  return alive ? Shim::kAlive : Shim::kGone;
}

std::optional<ShimReport> Spool::ReadStatus(const std::string& task) const {
  const auto text = ReadFile(Folder(task) + "/status", sizeof(ShimReport));
  ShimReport report;
  if (!text.ok() || text->size() != sizeof(report)) return std::nullopt;
  text->copy(reinterpret_cast<char*>(&report), sizeof(report));
  if (report.magic != kReportMagic) return std::nullopt;
  report.error[sizeof(report.error) - 1] = '\0';
  return report;
}

absl::Status Spool::WriteStatus(const std::string& task, const ShimReport& report) const {
  const std::string path = Folder(task) + "/status", temp = path + ".tmp";
  RETURN_IF_ERROR(WriteNew(temp, &report, sizeof(report), 0644));
  if (::rename(temp.c_str(), path.c_str()) != 0) return ErrnoStatus("rename to", path);
  return absl::OkStatus();
}

void Spool::Remove(const std::string& task) const {
  // The lock first: a folder without one counts for nothing.
  for (const char* name : {"/lock", "/task", "/status", "/status.tmp", ""})
    std::remove((Folder(task) + name).c_str());
}

}  // namespace sinew::launcher
