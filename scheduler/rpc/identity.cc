// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rpc/identity.h"

#include <pwd.h>
#include <unistd.h>

#include <vector>

#include "base/clock.h"

namespace sinew {
namespace {

constexpr int64_t kNameLifeNs = 60'000'000'000;
constexpr size_t kMaxNames = 10'000;

std::string LookUp(uid_t uid) {
  std::vector<char> buffer(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found) return found->pw_name;
  return std::to_string(uid);
}

}  // namespace

absl::StatusOr<User> Identity::Of(const std::string& peer) const {
  const auto caller = caller_of_(peer);
  if (!caller) return absl::UnauthenticatedError("this connection has no known user; connect again");
  User user{caller->uid, caller->gid, "", caller->uid == 0 || caller->uid == ::getuid()};
  const int64_t now = MonoNs();
  {
    absl::MutexLock lock(&mutex_);
    if (auto it = names_.find(caller->uid); it != names_.end() && now - it->second.second < kNameLifeNs) {
      user.name = it->second.first;
      return user;
    }
  }
  user.name = LookUp(caller->uid);  // may ask the network: not under the lock
  absl::MutexLock lock(&mutex_);
  if (names_.size() >= kMaxNames) names_.clear();
  names_[caller->uid] = {user.name, now};
  return user;
}

}  // namespace sinew
