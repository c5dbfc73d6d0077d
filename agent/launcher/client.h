// SPDX-License-Identifier: Apache-2.0
// The agent's end of the launcher's socket. No thread of its own: the owner polls fd() for POLLIN and then calls
// Receive() until it gives nothing. One thread at a time. After an error the connection is of no more use: make a new
// one, and list the tasks to learn what happened meanwhile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "proto/sinew/v1/launcher.pb.h"

namespace sinew {

class LauncherClient {
 public:
  static absl::StatusOr<LauncherClient> Connect(const std::string& path);

  int fd() const { return fd_.get(); }

  // Waits while the launcher has a full queue, 10 s at most. INVALID_ARGUMENT when the request is larger than a packet
  // of 256 KiB (the connection stays good), UNAVAILABLE when the launcher is gone.
  absl::Status Send(const v1::LauncherRequest& request);

  // The next reply or event; nullopt when none has come yet. UNAVAILABLE when the launcher is gone or hung up.
  absl::StatusOr<std::optional<v1::LauncherReply>> Receive();

 private:
  std::string path_;
  UniqueFd fd_;
  std::vector<char> buffer_;
};

}  // namespace sinew
