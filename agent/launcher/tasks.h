// SPDX-License-Identifier: Apache-2.0
// The tasks of a node: started, watched, stopped, and taken up again after a restart of the launcher. One thread, that
// of the event loop; nothing here waits, but for a fork server that takes no requests (shim_server.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/launcher/cgroups.h"
#include "agent/launcher/event_loop.h"
#include "agent/launcher/shim_server.h"
#include "agent/launcher/spool.h"
#include "agent/launcher/users.h"
#include "agent/launcher/validate.h"
#include "base/unique_fd.h"
#include "proto/sinew/v1/launcher.pb.h"

namespace sinew::launcher {

class Tasks {
 public:
  struct Options {
    std::string shim;  // its path
    StartRules rules;
    bool set_ids = false;    // this process is root and runs tasks as others
    gid_t log_group = 0;     // the agent's, which may read logs
  };
  // Gets a task that began or ended; asker is who is answered about it anyway (0 = nobody).
  using Listener = std::function<void(const v1::TaskState& state, std::uint64_t asker)>;
  using Answer = std::function<void(const absl::StatusOr<v1::TaskState>& state)>;

  Tasks(Options options, Spool spool, Cgroups cgroups, EventLoop& loop, Listener listener);

  // Makes the pipe, and takes up what a launcher before this one left. Once, before anything else.
  absl::Status Open();

  // answer is called once: now, or when the program runs or could not be run.
  void Start(const v1::StartTask& start, std::uint64_t asker, Answer answer);
  absl::StatusOr<v1::TaskState> Stop(const v1::StopTask& stop);
  absl::Status Forget(const std::string& task);
  // Notes included, by name.
  std::vector<v1::TaskState> List() const;

  const std::string& cgroup_mode() const { return cgroups_.mode(); }
  std::string log_dir() const { return spool_.log_dir(); }
  std::size_t running() const { return running_; }

 private:
  struct Task {
    v1::TaskState state;
    bool asked = false;  // the fork server, and nothing heard yet
    int asks = 0;
    std::string note;
    std::uint64_t serial = 0;
    UniqueFd pidfd;  // of the shim
    TaskGroup group;
    std::uint64_t asker = 0;
    Answer answer;   // of the start, until it is known
    ShimReport report = {};  // magic 0 = none came through the pipe
    bool adopted = false;
  };

  absl::Status Launch(Task& task, const v1::StartTask& start, const User& user);
  absl::Status Watch(Task& task);
  void OnForked(const ForkReply& reply);
  void AskAgain(const std::string& name);
  void CannotStart(const std::string& name, const absl::Status& status);
  void TakeUp(const std::string& name, int tries);
  void FindMainPid(const std::string& name);
  void OnReports();
  void OnShimGone(const std::string& name);
  void EndLost(const std::string& name, pid_t session, int rounds);
  void Finish(Task& task, const ShimReport& report);
  void Tell(Task& task);

  const Options options_;
  Spool spool_;
  Cgroups cgroups_;
  EventLoop& loop_;
  Listener listener_;
  Users users_;
  ShimServer shims_;
  std::map<std::string, Task> tasks_;
  std::map<std::uint64_t, std::string> by_serial_;  // of running ones started by this process
  std::uint64_t last_serial_ = 0;
  std::size_t running_ = 0;
  UniqueFd report_read_, report_write_, null_;
  std::string partial_;  // of a report
};

}  // namespace sinew::launcher
