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

  // Left by a launcher before this one; perhaps a task it was still writing down.
  ASSIGN_OR_RETURN(std::vector<std::string> names, ListDir(dir));
  for (const std::string& name : names)
    if (name.rfind("free.", 0) == 0) std::remove((dir + "/" + name).c_str());
  ASSIGN_OR_RETURN(names, ListDir(spool.log_dir()));
  std::vector<std::pair<std::int64_t, std::string>> aged;
  for (const std::string& name : names) {
    if (name.rfind("free.", 0) == 0) std::remove((spool.log_dir() + "/" + name).c_str());
    const std::size_t stem = name.rfind(".out");
    if (stem == std::string::npos || !IsTaskName(name.substr(0, stem))) continue;
    if (::lstat((spool.log_dir() + "/" + name).c_str(), &info) != 0) continue;
    aged.emplace_back(std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec, name.substr(0, stem));
  }
  std::sort(aged.begin(), aged.end());
  for (auto& [age, name] : aged) spool.logged_.push_back(std::move(name));
  return spool;
}

absl::StatusOr<std::vector<std::string>> Spool::Tasks() const {
  ASSIGN_OR_RETURN(std::vector<std::string> names, ListDir(dir_));
  names.erase(std::remove_if(names.begin(), names.end(), [](const std::string& n) { return !IsTaskName(n); }),
              names.end());
  return names;
}

absl::StatusOr<UniqueFd> Spool::TakeFree(std::string* path) {
  for (;;) {
    const bool made = free_.empty();
    *path = made ? dir_ + "/free." + std::to_string(++last_free_) : free_.back();
    if (!made) free_.pop_back();
    UniqueFd fd(::open(path->c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
    const int error = errno;
    std::remove(path->c_str());  // whoever still has it keeps it to himself
    if (made) return ErrnoStatus(fd.valid() ? "lock" : "create", *path, error);
  }
}

absl::StatusOr<UniqueFd> Spool::Create(const std::string& task, const std::string& start_task) {
  std::string path;
  ASSIGN_OR_RETURN(UniqueFd file, TakeFree(&path));
  const std::uint64_t size = start_task.size();
  std::string content(kStartOffset, '\0');
  content.append(reinterpret_cast<const char*>(&size), sizeof(size));
  content += start_task;
  errno = ENOSPC;  // of a write that is cut short
  absl::Status status;
  if (::pwrite(file.get(), content.data(), content.size(), 0) != static_cast<ssize_t>(content.size())) {
    status = ErrnoStatus("write", path);
  } else if (::rename(path.c_str(), File(task).c_str()) != 0) {
    status = ErrnoStatus("rename to", File(task));
  }
  if (status.ok()) return file;
  std::remove(path.c_str());
  return status;
}

absl::Status Spool::AddShimTask(int file, std::size_t start_size, const std::string& image) {
  errno = ENOSPC;
  if (::pwrite(file, image.data(), image.size(), ShimTaskOffset(start_size)) != static_cast<ssize_t>(image.size()))
    return ErrnoStatus("write", "the file of the task");
  return absl::OkStatus();
}

absl::StatusOr<std::string> Spool::ReadTask(const std::string& task) const {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(File(task), 4 * kMaxPacket));
  std::uint64_t size = 0;
  constexpr std::size_t kAt = kStartOffset + sizeof(size);
  if (text.size() >= kAt) text.copy(reinterpret_cast<char*>(&size), sizeof(size), kStartOffset);
  if (text.size() < kAt || text.size() - kAt < size) return absl::DataLossError(File(task) + " is no task");
  return text.substr(kAt, size);
}

absl::StatusOr<Spool::Logs> Spool::OpenLogs(const std::string& task, uid_t owner, gid_t group) {
  Logs logs;
  for (auto& [fd, ending] : {std::pair<UniqueFd*, const char*>{&logs.out, ".out"}, {&logs.err, ".err"}}) {
    const std::string path = log_dir() + "/" + task + ending;
    *fd = TakeFreeLog(path, owner == static_cast<uid_t>(-1) ? ::geteuid() : owner);
    if (fd->valid()) continue;
    fd->reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640));
    if (!fd->valid()) return ErrnoStatus("open", path);
    if (owner != static_cast<uid_t>(-1) && ::fchown(fd->get(), owner, group) != 0)
      return ErrnoStatus("change the owner of", path);
  }
  logged_.push_back(task);
  for (int i = 0; i < 2 && logged_.size() > kMaxLogs; ++i) {
    const std::string old = std::move(logged_.front());
    logged_.pop_front();
    if (::access(File(old).c_str(), F_OK) == 0) {  // not forgotten yet
      logged_.push_back(old);
      continue;
    }
    for (const char* ending : {".out", ".err"}) DropLog(log_dir() + "/" + old + ending);
  }
  return logs;
}

UniqueFd Spool::TakeFreeLog(const std::string& path, uid_t owner) {
  const auto it = free_logs_.find(owner);
  if (it == free_logs_.end() || it->second.empty()) return {};
  const std::string from = std::move(it->second.back());
  it->second.pop_back();
  --n_free_logs_;
  // Not over one that is there: that of a task of the same name, which goes on in it.
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) {
    std::remove(from.c_str());
    return {};
  }
  return UniqueFd(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
}

void Spool::DropLog(const std::string& path) {
  struct stat info;
  if (n_free_logs_ < kMaxFree && ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0) {
    std::string kept = log_dir() + "/free." + std::to_string(++last_free_);
    if (::rename(path.c_str(), kept.c_str()) == 0) {
      free_logs_[info.st_uid].push_back(std::move(kept));
      ++n_free_logs_;
      return;
    }
  }
  std::remove(path.c_str());
}

Spool::Shim Spool::Probe(const std::string& task, ShimRecord* record) const {
  *record = {};
  UniqueFd fd(::open(File(task).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return Shim::kNone;
  const bool alive = ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (::pread(fd.get(), record, sizeof(*record), kRecordOffset) != sizeof(*record) || record->magic != kRecordMagic) {
    *record = {};
  }
  return alive ? Shim::kAlive : Shim::kGone;
}

std::optional<ShimReport> Spool::ReadStatus(const std::string& task) const {
  const UniqueFd fd(::open(File(task).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  ShimReport report;
  if (!fd.valid() || ::pread(fd.get(), &report, sizeof(report), kStatusOffset) != sizeof(report) ||
      report.magic != kReportMagic) {
    return std::nullopt;
  }
  report.error[sizeof(report.error) - 1] = '\0';
  return report;
}

absl::Status Spool::WriteStatus(const std::string& task, const ShimReport& report) const {
  const std::string path = File(task);
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return ErrnoStatus("open", path);
  if (::pwrite(fd.get(), &report, sizeof(report), kStatusOffset) != sizeof(report)) return ErrnoStatus("write", path);
  return absl::OkStatus();
}

void Spool::Remove(const std::string& task) {
  struct stat info;
  const std::string errors = log_dir() + "/" + task + ".err";
  if (::lstat(errors.c_str(), &info) == 0 && info.st_size == 0) DropLog(errors);
  const std::string path = File(task);
  std::string kept = dir_ + "/free." + std::to_string(++last_free_);
  // Cut, since what it held may be secret; not to nothing, as ext4 writes a file that is then filled to disk at once.
  // What is no file, or cannot be kept, goes.
  if (free_.size() < kMaxFree && ::truncate(path.c_str(), kStartOffset) == 0 && ::rename(path.c_str(), kept.c_str()) == 0) {
    free_.push_back(std::move(kept));
    return;
  }
  std::remove(path.c_str());
}

}  // namespace sinew::launcher
