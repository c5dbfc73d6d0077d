// SPDX-License-Identifier: Apache-2.0
// The memory file a shim gets its task in. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "agent/launcher/cgroups.h"
#include "agent/launcher/users.h"
#include "base/unique_fd.h"
#include "proto/sinew/v1/launcher.pb.h"

namespace sinew::launcher {

// task_id goes into the environment as SINEW_TASK_ID. flags: ShimFlags.
absl::StatusOr<UniqueFd> MakeTaskImage(const v1::StartTask& start, const User& user, const TaskGroup& group,
                                       const std::string& task_id, std::uint64_t serial, std::uint32_t flags);

}  // namespace sinew::launcher
