// SPDX-License-Identifier: Apache-2.0
// The launcher's folder on disk. One thread.
//   launcher.lock        held while a launcher works on this folder
//   id                   16 hex digits, made once: tells this spool's tasks from those of others on the machine
//   <task>               one file a task, mode 0600 as its environment may hold secrets: ShimRecord, ShimReport,
//                        StartTask and ShimTask at the offsets of shim_protocol.h. Flocked by the shim as long as it
//                        lives. Renamed into place once it holds the StartTask
//   free.N               cut files of forgotten tasks, used for later ones: to delete and create one for each task
//                        makes ext4 search for inodes that were not used lately
//   logs/<task>.out, <task>.err   stay when the task is forgotten, an error log only if something is in it; the oldest go
//                        when there are too many
//   logs/free.N          empty ones of before, which later tasks of the same user get
// What is written here is not synced: after a power cut no task runs any more, and a task that is unknown then never
// was acknowledged as ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/launcher/shim_protocol.h"
#include "base/unique_fd.h"

namespace sinew::launcher {

class Spool {
 public:
  static constexpr std::size_t kMaxLogs = 20'000;

  // Makes the folders. FAILED_PRECONDITION when another launcher holds it or another user could write to it.
  static absl::StatusOr<Spool> Open(const std::string& dir);

  const std::string& id() const { return id_; }
  std::string log_dir() const { return dir_ + "/logs"; }
  std::string File(const std::string& task) const { return dir_ + "/" + task; }
  // The value of SINEW_TASK_ID, and the name of the cgroup.
  std::string TaskId(const std::string& task) const { return id_ + "-" + task; }

  // The names of the tasks in it.
  absl::StatusOr<std::vector<std::string>> Tasks() const;

  // Makes the task's file; its descriptor, locked. Failing, leaves nothing.
  absl::StatusOr<UniqueFd> Create(const std::string& task, const std::string& start_task);
  // Adds the ShimTask to it. Failing, the file is of no use.
  static absl::Status AddShimTask(int file, std::size_t start_size, const std::string& image);
  absl::StatusOr<std::string> ReadTask(const std::string& task) const;

  struct Logs {
    UniqueFd out, err;
  };
  // Opens (appending) the log files. owner, group: whose they become, -1 = left alone; mode 0640.
  absl::StatusOr<Logs> OpenLogs(const std::string& task, uid_t owner, gid_t group);

  enum class Shim { kNone, kAlive, kGone };
  // Whether the task's shim lives, by its lock; and what it recorded (magic 0 = nothing yet).
  Shim Probe(const std::string& task, ShimRecord* record) const;

  std::optional<ShimReport> ReadStatus(const std::string& task) const;
  absl::Status WriteStatus(const std::string& task, const ShimReport& report) const;

  // All but what the task printed.
  void Remove(const std::string& task);

 private:
  static constexpr std::size_t kMaxFree = 256;

  // A log that no task has, renamed to path; not valid when there is none. Another user's would not do: who had it may
  // have it open still.
  UniqueFd TakeFreeLog(const std::string& path, uid_t owner);
  // An empty log becomes a free one; any other is deleted.
  void DropLog(const std::string& path);

  // A locked file that no task has, and its path.
  absl::StatusOr<UniqueFd> TakeFree(std::string* path);

  std::string dir_;
  std::string id_;
  UniqueFd lock_;
  std::deque<std::string> logged_;  // oldest first
  std::vector<std::string> free_;        // paths
  std::map<uid_t, std::vector<std::string>> free_logs_;  // paths
  std::size_t n_free_logs_ = 0;
  std::uint64_t last_free_ = 0;
};

}  // namespace sinew::launcher
