// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/shim_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace sinew::launcher {
namespace {

struct Process {
  int pid;
  int parent;
  bool below;
};

// Parent of a process by /proc/<pid>/stat; -1 when it is gone or a zombie.
int ParentOf(const char* name) {
  char path[64], text[512];
  snprintf(path, sizeof(path), "/proc/%.20s/stat", name);
  if (ReadSmall(path, text, sizeof(text)) <= 0) return -1;
  const char* rest = strrchr(text, ')');  // the name before it may hold anything
  char state;
  int parent;
  if (rest == nullptr || sscanf(rest + 1, " %c %d", &state, &parent) != 2) return -1;
  return state == 'X' ? -1 : parent;
}

// Signals every descendant; how many there were that `seen` (a list of those signalled before) did not hold.
int SignalDescendants(int signal, int* seen, int* n_seen, int max_seen) {
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return 0;
  Process* list = nullptr;
  int count = 0, room = 0;
  while (const dirent* entry = readdir(proc)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const int parent = ParentOf(entry->d_name);
    if (parent < 0) continue;
    if (count == room) {
      room = room == 0 ? 1024 : room * 2;
      Process* more = static_cast<Process*>(realloc(list, static_cast<size_t>(room) * sizeof(Process)));
      if (more == nullptr) break;
      list = more;
    }
    list[count++] = {atoi(entry->d_name), parent, false};
  }
  closedir(proc);
  const int self = getpid();
  int fresh = 0;
  for (bool again = true; again;) {
    again = false;
    for (int i = 0; i < count; ++i) {
      if (list[i].below) continue;
      bool below = list[i].parent == self;
      for (int j = 0; j < count && !below; ++j) below = list[j].below && list[j].pid == list[i].parent;
      if (!below) continue;
      list[i].below = again = true;
      bool known = false;
      for (int j = 0; j < *n_seen && !known; ++j) known = seen[j] == list[i].pid;
      if (known) continue;
      ++fresh;
      if (*n_seen < max_seen) seen[(*n_seen)++] = list[i].pid;
      kill(list[i].pid, signal);
      if (signal != SIGKILL) kill(list[i].pid, SIGCONT);
    }
  }
  free(list);
  return fresh;
}

}  // namespace

long ReadSmall(const char* path, char* buffer, unsigned long size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  unsigned long length = 0;
  while (length + 1 < size) {
    const long n = read(fd, buffer + length, size - 1 - length);
    if (n <= 0) break;
    length += static_cast<unsigned long>(n);
  }
  close(fd);
  buffer[length] = '\0';
  return static_cast<long>(length);
}

bool WriteSmall(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = static_cast<ssize_t>(strlen(text));
  const bool done = write(fd, text, static_cast<size_t>(length)) == length;
  close(fd);
  return done;
}

void SignalTree(int signal, const char* cgroup) {
  if (signal == SIGKILL && cgroup[0] != '\0') {
    char path[4200];
    snprintf(path, sizeof(path), "%s/cgroup.kill", cgroup);
    WriteSmall(path, "1");  // at once and without a race; what moved elsewhere is found below
  }
  static int seen[4096];
  int n_seen = 0;
  for (int round = 0; round < (signal == SIGKILL ? 16 : 2); ++round)
    if (SignalDescendants(signal, seen, &n_seen, 4096) == 0) break;
}

}  // namespace sinew::launcher
