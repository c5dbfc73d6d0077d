// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/errno_status.h"
#include "base/files.h"

extern char** environ;

namespace sinew {
namespace {

std::string FolderOf(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

absl::StatusOr<std::string> FindSibling(const std::string& name) {
  std::vector<std::string> folders;
  if (auto line = ReadFile("/proc/self/cmdline", 4 << 20); line.ok()) {
    const std::string argv0 = line->substr(0, line->find('\0'));
    if (argv0.find('/') != std::string::npos) folders.push_back(FolderOf(argv0));
  }
  char real[4096];
  if (const ssize_t n = ::readlink("/proc/self/exe", real, sizeof(real)); n > 0)
    folders.push_back(FolderOf(std::string(real, static_cast<std::size_t>(n))));
  for (const std::string& folder : folders) {
    for (const char* way : {"/", "/launcher/", "/../scheduler/", "/../agent/", "/../agent/launcher/", "/../cli/",
                            "/../trainer/", "/../../scheduler/", "/../../cli/", "/../../trainer/"}) {
      const std::string path = folder + way + name;
      if (::access(path.c_str(), X_OK) != 0) continue;
      char* whole = ::realpath((folder + way).c_str(), nullptr);
      if (whole == nullptr) return path;
      const std::string found = std::string(whole) + "/" + name;
      std::free(whole);
      return found;
    }
  }
  std::string text = "program " + name + " is not there; looked beside";
  for (const std::string& folder : folders) text += " " + folder;
  return absl::NotFoundError(text);
}

absl::StatusOr<Spawned> Spawn(const SpawnOptions& options) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  // Sources that lie among the targets are moved out of the way first.
  int top = 0;
  for (const auto& [from, to] : options.fds) top = std::max(top, to + 1);
  std::vector<UniqueFd> moved;
  int error = 0;
  for (const auto& [from, to] : options.fds) {
    int source = from;
    if (from < top) {
      moved.emplace_back(::fcntl(from, F_DUPFD_CLOEXEC, top));
      source = moved.back().get();
      if (source < 0) error = errno;
    }
    ::posix_spawn_file_actions_adddup2(&actions, source, to);
  }
  sigset_t mask, all;
  ::sigfillset(&all);
  if (options.block_signals) ::sigfillset(&mask); else ::sigemptyset(&mask);
  ::posix_spawnattr_setsigmask(&attributes, &mask);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                             (options.new_session ? POSIX_SPAWN_SETSID : 0)));
  std::vector<char*> argv = Pointers(options.argv), env;
  if (options.env != nullptr) env = Pointers(*options.env);
  Spawned spawned;
  if (error == 0)
    error = ::posix_spawn(&spawned.pid, options.program.c_str(), &actions, &attributes, argv.data(),
                          options.env != nullptr ? env.data() : environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return ErrnoStatus("start", options.program, error);
  // The child is not reaped yet, so its number still means it.
  spawned.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, spawned.pid, 0)));
  if (!spawned.pidfd.valid()) return ErrnoStatus("watch", options.program);
  return spawned;
}

void SdNotify(const std::string& state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address = {};
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  const std::size_t length = std::strlen(path);
  if (length >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return;
  ::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
}

long WatchdogPingMs() {
  const char* interval = std::getenv("WATCHDOG_USEC");
  const char* pid = std::getenv("WATCHDOG_PID");
  if (interval == nullptr || (pid != nullptr && std::atol(pid) != ::getpid())) return 0;
  return std::max(0L, std::atol(interval) / 2000);
}

}  // namespace sinew
