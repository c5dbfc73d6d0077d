// SPDX-License-Identifier: Apache-2.0
// The child that becomes the task. No C++ library. One thread.
#pragma once

#include "agent/launcher/shim_protocol.h"

namespace sinew::launcher {

struct TaskView {
  const ShimTask* task;
  const unsigned* groups;
  const unsigned* cpus;
  const char* workdir;
  const char* stdout_path;
  const char* stderr_path;
  const char* cgroup_v2;
  const char* cgroup_v1;
  char** argv;
  char** env;
};

// Called in the new process, which may share its memory with the shim: only its stack is its own. Becomes the user and
// executes the program. Failing, writes "<what> <path>: <errno text>" to error_fd (close-on-exec, so its end of file
// means success) and exits. join_v2: not yet in its v2 cgroup.
[[noreturn]] void BecomeTask(const TaskView& view, int shim_pid, bool join_v2, int error_fd);

}  // namespace sinew::launcher
