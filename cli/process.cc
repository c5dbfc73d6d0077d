// SPDX-License-Identifier: Apache-2.0
#include "cli/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "base/files.h"
#include "base/status_macros.h"

extern char** environ;

namespace sinew::cli {
namespace {

struct Stat {
  char state = 'X';
  pid_t parent = 0;
  uint64_t started = 0;
};

Stat StatOf(pid_t pid) {
  Stat out;
  const auto text = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  if (!text.ok()) return out;
  const size_t end = text->rfind(')');  // the name before it may hold anything
  if (end == std::string::npos) return out;
  std::istringstream in(text->substr(end + 1));
  std::string skipped;
  in >> out.state >> out.parent;
  for (int field = 5; field < 22; ++field) in >> skipped;
  in >> out.started;
  return out;
}

absl::StatusOr<pid_t> Start(const std::vector<std::string>& argv, const std::string& log) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  sigset_t none, defaults;
  ::sigemptyset(&none);
  ::sigfillset(&defaults);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0].c_str(), &actions, &attributes, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return absl::NotFoundError("cannot start " + argv[0] + " with its output in " + log + ": " + std::strerror(error));
  }
  return pid;
}

std::string Folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

bool IsAlive(const Process& process) {
  const Stat stat = StatOf(process.pid);
  return stat.state != 'X' && stat.state != 'Z' && stat.started == process.started;
}

absl::StatusOr<Process> Spawn(const std::string& name, const std::vector<std::string>& argv, const std::string& log) {
  ASSIGN_OR_RETURN(const pid_t pid, Start(argv, log));
  return Process{name, pid, StatOf(pid).started};
}

absl::StatusOr<int> RunToEnd(const std::vector<std::string>& argv, const std::string& log) {
  ASSIGN_OR_RETURN(const pid_t pid, Start(argv, log));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return absl::InternalError(std::string("waitpid: ") + std::strerror(errno));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void Stop(const Process& process, int patience_ms) {
  for (int waited = 0; IsAlive(process); waited += 20) {
    if (waited == 0) ::kill(process.pid, SIGTERM);
    if (waited >= patience_ms && waited % 1000 == 0) ::kill(process.pid, SIGKILL);
    if (waited >= patience_ms + 5000) return;  // in the kernel; nothing more can be done
    ::usleep(20'000);
  }
}

absl::StatusOr<std::string> FindProgram(const std::string& name) {
  char self[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", self, sizeof(self) - 1);
  const std::string here = n > 0 ? Folder(std::string(self, static_cast<size_t>(n))) : ".";
  static const std::map<std::string, std::string> packages = {{"sinewd", "scheduler"},
                                                              {"sinew-agent", "agent"},
                                                              {"sinew-launcher", "agent/launcher"},
                                                              {"sinew-shim", "agent/launcher"},
                                                              {"sinew-trainer", "trainer"}};
  std::vector<std::string> places = {here + "/" + name};
  if (auto it = packages.find(name); it != packages.end()) places.push_back(Folder(here) + "/" + it->second + "/" + name);
  for (const std::string& place : places) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return absl::NotFoundError("cannot find the program " + name + "; it is in none of: " + places[0] +
                             (places.size() > 1 ? ", " + places[1] : ""));
}

absl::StatusOr<std::vector<Process>> ReadRecord(const std::string& path) {
  std::vector<Process> out;
  const auto text = ReadFile(path);
  if (text.status().code() == absl::StatusCode::kNotFound) return out;
  if (!text.ok()) return text.status();
  std::istringstream in(*text);
  for (Process p; in >> p.name >> p.pid >> p.started;) out.push_back(p);
  return out;
}

absl::Status WriteRecord(const std::string& path, const std::vector<Process>& processes) {
  std::string text;
  for (const Process& p : processes) {
    text += p.name + " " + std::to_string(p.pid) + " " + std::to_string(p.started) + "\n";
  }
  return WriteFileAtomic(path, text, 0600);
}

int KillShims(const std::string& folder) {
  const auto names = ListDir("/proc");
  if (!names.ok()) return 0;
  std::multimap<pid_t, pid_t> children;
  std::vector<pid_t> doomed;
  for (const std::string& name : *names) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = static_cast<pid_t>(std::atoi(name.c_str()));
    children.emplace(StatOf(pid).parent, pid);
    const auto words = ReadFile("/proc/" + name + "/cmdline");
    if (words.ok() && words->rfind("sinew-shim" + std::string(1, '\0'), 0) == 0 &&
        words->find('\0' + folder + "/") != std::string::npos) {
      doomed.push_back(pid);
    }
  }
  for (size_t i = 0; i < doomed.size(); ++i) {
    for (auto [it, end] = children.equal_range(doomed[i]); it != end; ++it) doomed.push_back(it->second);
  }
  for (const pid_t pid : doomed) ::kill(pid, SIGKILL);
  return static_cast<int>(doomed.size());
}

std::string LastLines(const std::string& path, int lines) {
  const auto text = ReadFile(path);
  if (!text.ok()) return "";
  std::vector<std::string> all;
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) all.push_back(line);
  }
  std::string out;
  for (size_t i = all.size() > static_cast<size_t>(lines) ? all.size() - static_cast<size_t>(lines) : 0; i < all.size(); ++i) {
    out += (out.empty() ? "" : " | ") + all[i];
  }
  return out;
}

}  // namespace sinew::cli
