// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/users.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "base/clock.h"

namespace sinew::launcher {

absl::StatusOr<User> Users::Find(uid_t uid) {
  const std::int64_t now = MonoNs();
  if (const auto it = kept_.find(uid); it != kept_.end() && it->second.until_ns > now) return it->second.user;
  passwd record, *found = nullptr;
  std::vector<char> buffer(1 << 16);
  ::getpwuid_r(uid, &record, buffer.data(), buffer.size(), &found);
  if (found == nullptr)
    return absl::NotFoundError("no user has the uid " + std::to_string(uid) + " on this node");
  User user{found->pw_name, found->pw_gid, {}};
  int count = 64;
  user.groups.resize(static_cast<std::size_t>(count));
  while (::getgrouplist(found->pw_name, found->pw_gid, user.groups.data(), &count) < 0 && count <= 65536)
    user.groups.resize(static_cast<std::size_t>(count));
  user.groups.resize(static_cast<std::size_t>(count));
  if (kept_.size() > 10'000) kept_.clear();
  kept_[uid] = {user, now + 60'000'000'000};
  return user;
}

}  // namespace sinew::launcher
