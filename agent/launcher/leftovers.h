// SPDX-License-Identifier: Apache-2.0
// Processes of a task whose shim is gone. One thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace sinew::launcher {

// Sends SIGKILL to every process whose environment holds SINEW_TASK_ID=<id>, and, with a session (0 = none), to every
// process of that session. How many there were; zombies do not count. Reads all of /proc: not for every day.
int KillLeftovers(const std::string& id, pid_t session);

}  // namespace sinew::launcher
