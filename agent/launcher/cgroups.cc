// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/cgroups.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "base/files.h"
#include "base/unique_fd.h"

namespace sinew::launcher {
namespace {

bool IsMounted(const std::string& path, long magic) {
  struct statfs info;
  return ::statfs(path.c_str(), &info) == 0 && static_cast<long>(info.f_type) == magic;
}

bool Write(const std::string& path, const std::string& text) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.valid() && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool MakeFolder(const std::string& path) {
  return (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) && ::access(path.c_str(), W_OK) == 0;
}

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

int KillMembers(const std::string& folder) {
  const auto members = ReadFile(folder + "/cgroup.procs");
  if (!members.ok()) return 0;
  std::istringstream in(*members);
  int count = 0;
  for (long pid; in >> pid; ++count)
    if (pid > 0) ::kill(static_cast<pid_t>(pid), SIGKILL);
  return count;
}

}  // namespace

Cgroups Cgroups::Detect(const std::string& root) {
  Cgroups found;
  std::string v2;
  if (IsMounted(root, CGROUP2_SUPER_MAGIC)) v2 = root;
  else if (IsMounted(root + "/unified", CGROUP2_SUPER_MAGIC)) v2 = root + "/unified";
  if (!v2.empty() && MakeFolder(v2 + "/sinew")) {
    found.v2_ = v2 + "/sinew";
    // A controller is passed on level by level.
    Write(v2 + "/cgroup.subtree_control", "+memory");
    Write(found.v2_ + "/cgroup.subtree_control", "+memory");
    const auto passed = ReadFile(found.v2_ + "/cgroup.subtree_control");
    found.v2_memory_ = passed.ok() && passed->find("memory") != std::string::npos;
  }
  const std::string v1 = root + "/memory";
  if (!found.v2_memory_ && IsMounted(v1, CGROUP_SUPER_MAGIC) && MakeFolder(v1 + "/sinew"))
    found.v1_memory_ = v1 + "/sinew";
  if (!found.v2_.empty()) found.mode_ = found.v1_memory_.empty() ? "v2" : "hybrid";
  else if (!found.v1_memory_.empty()) found.mode_ = "v1";
  return found;
}

TaskGroup Cgroups::Make(const std::string& name, std::int64_t memory_bytes) const {
  TaskGroup group;
  if (!v2_.empty() && MakeFolder(v2_ + "/" + name)) {
    group.v2 = v2_ + "/" + name;
    if (memory_bytes > 0 && v2_memory_) {
      Write(group.v2 + "/memory.max", std::to_string(memory_bytes));
      Write(group.v2 + "/memory.oom.group", "1");
    }
  }
  // To put a process into a v1 group stops every fork of the machine for milliseconds: only for what asks for a limit.
  if (!v1_memory_.empty() && memory_bytes > 0 && MakeFolder(v1_memory_ + "/" + name)) {
    group.v1_memory = v1_memory_ + "/" + name;
    Write(group.v1_memory + "/memory.limit_in_bytes", std::to_string(memory_bytes));
  }
  return group;
}

TaskGroup Cgroups::Find(const std::string& name) const {
  TaskGroup group;
  if (!v2_.empty() && Exists(v2_ + "/" + name)) group.v2 = v2_ + "/" + name;
  if (!v1_memory_.empty() && Exists(v1_memory_ + "/" + name)) group.v1_memory = v1_memory_ + "/" + name;
  return group;
}

int KillGroup(const TaskGroup& group) {
  int count = 0;
  if (!group.v2.empty()) {
    count += KillMembers(group.v2);
    if (count > 0) Write(group.v2 + "/cgroup.kill", "1");
  }
  if (!group.v1_memory.empty()) count += KillMembers(group.v1_memory);
  return count;
}

void RemoveGroup(const TaskGroup& group) {
  if (!group.v2.empty()) ::rmdir(group.v2.c_str());
  if (!group.v1_memory.empty()) ::rmdir(group.v1_memory.c_str());
}

}  // namespace sinew::launcher
