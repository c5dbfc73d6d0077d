// SPDX-License-Identifier: Apache-2.0
// What a request may hold. Nothing of a request is used before it went through here.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/launcher/packet.h"
#include "agent/launcher/users.h"
#include "proto/sinew/v1/launcher.pb.h"

namespace sinew::launcher {

inline constexpr std::size_t kMaxNote = 64 << 10;

inline constexpr std::size_t kMaxTaskName = 60;

// "<job>.<run>.<rank>": three numbers, kMaxTaskName bytes at most.
bool IsTaskName(const std::string& name);

struct StartRules {
  bool single_user = false;
  uid_t own_uid = 0;
};
// The user to run it as. INVALID_ARGUMENT names the field, PERMISSION_DENIED the user.
absl::StatusOr<User> CheckStart(const v1::StartTask& start, const StartRules& rules, Users& users);
absl::Status CheckStop(const v1::StopTask& stop);

}  // namespace sinew::launcher
