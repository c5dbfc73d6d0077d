// SPDX-License-Identifier: Apache-2.0
// Users of this node by uid, as the node's own name service knows them. Kept for a minute, for the name service may be
// slow, and it is asked on the launcher's only thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sinew::launcher {

struct User {
  std::string name;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // gid included
};

class Users {
 public:
  // NOT_FOUND: "no user has the uid 1234 on this node".
  absl::StatusOr<User> Find(uid_t uid);

 private:
  struct Kept {
    User user;
    std::int64_t until_ns;
  };
  std::map<uid_t, Kept> kept_;
};

}  // namespace sinew::launcher
