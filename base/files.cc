// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/errno_status.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace sinew {
namespace {

std::string Folder(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status WriteAll(int fd, const std::string& content, const std::string& path) {
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus("write", path);
    done += static_cast<std::size_t>(n);
  }
  return absl::OkStatus();
}

std::string Xdg(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  // The XDG specification: a relative path is to be ignored.
  if (value != nullptr && value[0] == '/') return std::string(value) + "/sinew";
  return ExpandUser(fallback) + "/sinew";
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t limit) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("open", path);
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus("read", path);
    if (n == 0) return content;
    if (content.size() + static_cast<std::size_t>(n) > limit)
      return absl::ResourceExhaustedError("read " + path + ": larger than the limit of " + std::to_string(limit) +
                                          " bytes");
    content.append(buffer, static_cast<std::size_t>(n));
  }
}

absl::Status WriteFileAtomic(const std::string& path, const std::string& content, mode_t mode) {
  static std::atomic<unsigned> counter{0};
  const std::string temp = path + ".tmp" + std::to_string(::getpid()) + "." + std::to_string(counter++);
  UniqueFd fd(::open(temp.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd.valid()) return ErrnoStatus("create", temp);
  absl::Status status = WriteAll(fd.get(), content, temp);
  if (status.ok() && ::fsync(fd.get()) != 0) status = ErrnoStatus("fsync", temp);
  if (status.ok() && ::rename(temp.c_str(), path.c_str()) != 0) status = ErrnoStatus("rename to", path);
  if (!status.ok()) {
    ::unlink(temp.c_str());
    return status;
  }
  return FsyncDir(Folder(path));
}

absl::Status MakeFolders(const std::string& path, mode_t mode) {
  if (path.empty()) return absl::InvalidArgumentError("make folder: the path is empty");
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), mode) == 0) continue;
    const int error = errno;
    struct stat info;
    if (::stat(part.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) continue;
    return ErrnoStatus("make folder", part, error);
  }
  return absl::OkStatus();
}

absl::Status FsyncDir(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("open", path);
  if (::fsync(fd.get()) != 0) return ErrnoStatus("fsync", path);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ListDir(const std::string& path) {
  DIR* dir = ::opendir(path.c_str());
  if (dir == nullptr) return ErrnoStatus("open folder", path);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  const int error = errno;
  ::closedir(dir);
  if (error != 0) return ErrnoStatus("read folder", path, error);
  std::sort(names.begin(), names.end());
  return names;
}

std::string ExpandUser(const std::string& path) {
  if (path != "~" && path.rfind("~/", 0) != 0) return path;
  std::string home;
  if (const char* value = std::getenv("HOME"); value != nullptr && value[0] == '/') {
    home = value;
  } else {
    passwd record, *found = nullptr;
    char buffer[1 << 14];
    if (::getpwuid_r(::getuid(), &record, buffer, sizeof(buffer), &found) == 0 && found != nullptr)
      home = found->pw_dir;
  }
  return home.empty() ? path : home + path.substr(1);
}

std::string StateHome() { return Xdg("XDG_STATE_HOME", "~/.local/state"); }
std::string ConfigHome() { return Xdg("XDG_CONFIG_HOME", "~/.config"); }
std::string RuntimeHome() {
  const char* value = std::getenv("XDG_RUNTIME_DIR");
  if (value != nullptr && value[0] == '/') return std::string(value) + "/sinew";
  return "/tmp/sinew-" + std::to_string(::getuid());
}

}  // namespace sinew
