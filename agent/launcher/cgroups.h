// SPDX-License-Identifier: Apache-2.0
// A cgroup for each task, where the machine lets us: it ends a whole task at once, and limits its memory. Everything is
// best effort: without cgroups the shim still finds every process of its task. One thread.
#pragma once

#include <cstdint>
#include <string>

namespace sinew::launcher {

struct TaskGroup {
  std::string v2;         // folder, "" = none
  std::string v1_memory;  // folder, "" = none
};

class Cgroups {
 public:
  // mode "none", no groups.
  Cgroups() = default;
  // What is mounted at root and may be written to. Makes the folders <hierarchy>/sinew.
  static Cgroups Detect(const std::string& root = "/sys/fs/cgroup");

  // "v2", "v1", "hybrid" (v2 without controllers, and v1) or "none".
  const std::string& mode() const { return mode_; }

  // The group `name`, made new; memory_bytes 0 = no limit. Parts that cannot be had are "".
  TaskGroup Make(const std::string& name, std::int64_t memory_bytes) const;
  // The same names without making anything: "" where the folder does not exist.
  TaskGroup Find(const std::string& name) const;

 private:
  std::string mode_ = "none";
  std::string v2_, v1_memory_;  // the sinew folders
  bool v2_memory_ = false;
};

// Sends SIGKILL to all in the group; how many processes were still in it.
int KillGroup(const TaskGroup& group);
void RemoveGroup(const TaskGroup& group);

}  // namespace sinew::launcher
