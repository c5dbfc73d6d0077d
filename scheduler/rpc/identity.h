// SPDX-License-Identifier: Apache-2.0
// Who is calling: from the connection, never from a message.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/acceptor.h"

namespace sinew {

struct User {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string name;
  bool operator_ = false;  // root, or the daemon's own user: sees and cancels every job
};

class Identity {
 public:
  explicit Identity(std::function<std::optional<Caller>(const std::string& peer)> caller_of)
      : caller_of_(std::move(caller_of)) {}
  // UNAUTHENTICATED when the connection is not known.
  absl::StatusOr<User> Of(const std::string& peer) const;

 private:
  std::function<std::optional<Caller>(const std::string&)> caller_of_;
  mutable absl::Mutex mutex_;
  mutable std::map<uid_t, std::pair<std::string, int64_t>> names_ ABSL_GUARDED_BY(mutex_);  // with the time looked up
};

}  // namespace sinew
