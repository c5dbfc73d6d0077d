// SPDX-License-Identifier: Apache-2.0
// What a shim is told of its task. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "agent/launcher/cgroups.h"
#include "agent/launcher/users.h"
#include "proto/sinew/v1/launcher.pb.h"

namespace sinew::launcher {

// A ShimTask and what follows it. task_id goes into the environment as SINEW_TASK_ID. flags: ShimFlags.
std::string MakeTaskImage(const v1::StartTask& start, const User& user, const TaskGroup& group,
                          const std::string& task_id, std::uint64_t serial, std::uint32_t flags);

}  // namespace sinew::launcher
