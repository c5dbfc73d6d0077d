// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/leftovers.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/files.h"

namespace sinew::launcher {
namespace {

// State and session by /proc/<pid>/stat.
bool ReadStat(const std::string& folder, char* state, long* session) {
  const auto stat = ReadFile(folder + "/stat");
  if (!stat.ok()) return false;
  const auto rest = stat->rfind(')');  // the name before it may hold anything
  if (rest == std::string::npos) return false;
  long parent, group;
  return std::sscanf(stat->c_str() + rest + 1, " %c %ld %ld %ld", state, &parent, &group, session) == 4;
}

}  // namespace

int KillLeftovers(const std::string& id, pid_t session) {
  const auto names = ListDir("/proc");
  if (!names.ok()) return 0;
  std::string wanted("\0SINEW_TASK_ID=", 15);
  wanted += id;
  wanted += '\0';
  int count = 0;
  for (const std::string& name : *names) {
    if (name[0] < '1' || name[0] > '9') continue;
    const pid_t pid = std::atoi(name.c_str());
    const std::string folder = "/proc/" + name;
    char state;
    long its_session;
    if (pid == ::getpid() || !ReadStat(folder, &state, &its_session) || state == 'Z' || state == 'X') continue;
    bool ours = session > 0 && its_session == session;
    if (!ours) {
      const auto environment = ReadFile(folder + "/environ", 1 << 20);
      ours = environment.ok() && (std::string(1, '\0') + *environment).find(wanted) != std::string::npos;
    }
    if (!ours) continue;
    ++count;
    ::kill(pid, SIGKILL);
  }
  return count;
}

}  // namespace sinew::launcher
