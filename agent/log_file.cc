// SPDX-License-Identifier: Apache-2.0
#include "agent/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/errno_status.h"
#include "base/text.h"

namespace sinew::agent {
namespace {

constexpr off_t kBlock = 64 << 10;
constexpr size_t kMaxLine = 400;
constexpr size_t kMaxTail = 256 << 10;

// Where the last `lines` lines begin. A line feed at the very end closes the last line and opens none.
off_t StartOfTail(int fd, off_t size, int64_t lines) {
  std::string block(kBlock, '\0');
  int64_t found = 0;
  for (off_t end = size; end > 0;) {
    const off_t begin = std::max<off_t>(0, end - kBlock);
    const ssize_t got = ::pread(fd, block.data(), static_cast<size_t>(end - begin), begin);
    if (got <= 0) return 0;
    for (ssize_t i = got - 1; i >= 0; --i) {
      if (block[static_cast<size_t>(i)] != '\n' || begin + i == size - 1) continue;
      if (++found == lines) return begin + i + 1;
    }
    end = begin;
  }
  return 0;
}

}  // namespace

absl::StatusOr<LogFile> LogFile::Open(const std::string& path, std::optional<uid_t> owner, int64_t tail_lines) {
  LogFile log;
  log.path_ = path;
  // Never blocks on a pipe that somebody put there.
  log.fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!log.fd_.valid()) {
    if (errno == EACCES) {
      return absl::PermissionDeniedError("the agent may not read " + path + "; read it on the node as the job's user");
    }
    return ErrnoStatus("open", path);
  }
  struct stat info {};
  if (::fstat(log.fd_.get(), &info) != 0) return ErrnoStatus("look at", path);
  if (!S_ISREG(info.st_mode)) return absl::FailedPreconditionError(path + " is not a file");
  if (owner && info.st_uid != *owner) {
    return absl::PermissionDeniedError(path + " does not belong to the job's user");
  }
  if (tail_lines > 0) log.offset_ = StartOfTail(log.fd_.get(), info.st_size, tail_lines);
  return log;
}

void LogFile::KeepLast(off_t bytes) {
  struct stat info {};
  if (::fstat(fd_.get(), &info) == 0) offset_ = std::max(offset_, info.st_size - bytes);
}

absl::StatusOr<std::string> LogFile::Read(size_t limit) {
  std::string data(limit, '\0');
  const ssize_t got = ::pread(fd_.get(), data.data(), limit, offset_);
  if (got < 0) return ErrnoStatus("read", path_);
  offset_ += got;
  data.resize(static_cast<size_t>(got));
  return data;
}

std::vector<std::string> LastLines(const std::string& path, std::optional<uid_t> owner, int lines) {
  std::vector<std::string> out;
  auto log = LogFile::Open(path, owner, lines);
  if (!log.ok()) return out;
  log->KeepLast(kMaxTail);  // a line may be of any length
  const auto data = log->Read(kMaxTail);
  if (!data.ok()) return out;
  for (size_t at = 0; at < data->size() && out.size() < static_cast<size_t>(lines);) {
    const size_t end = std::min(data->find('\n', at), data->size());
    std::string line = EscapeControl(data->substr(at, std::min(end - at, kMaxLine)));
    if (end - at > kMaxLine) line += "...";
    out.push_back(std::move(line));
    at = end + 1;
  }
  return out;
}

}  // namespace sinew::agent
