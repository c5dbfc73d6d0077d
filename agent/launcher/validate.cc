// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/validate.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "agent/launcher/shim_protocol.h"
#include "base/status_macros.h"

namespace sinew::launcher {
namespace {

constexpr int kMaxWords = 8192;
constexpr std::size_t kMaxPath = 4000;  // with a name behind it still less than PATH_MAX

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::Status CheckPath(const std::string& field, const std::string& path) {
  if (path.empty() || path[0] != '/') return Bad(field + " must be an absolute path");
  if (path.size() > kMaxPath) return Bad(field + " is longer than " + std::to_string(kMaxPath) + " bytes");
  if (path.find('\0') != std::string::npos) return Bad(field + " holds a NUL byte");
  return absl::OkStatus();
}

template <typename Words>
absl::Status CheckWords(const std::string& field, const Words& words) {
  if (words.size() > kMaxWords) return Bad(field + " holds more than " + std::to_string(kMaxWords) + " strings");
  for (const std::string& word : words) {
    if (word.find('\0') != std::string::npos) return Bad(field + " holds a NUL byte");
    if (word.size() >= 131072) return Bad(field + " holds a string of 128 KiB or more, which the kernel refuses");
  }
  return absl::OkStatus();
}

std::vector<gid_t> OwnGroups() {
  std::vector<gid_t> groups(65536);
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  groups.push_back(::getegid());
  return groups;
}

bool Has(const std::vector<gid_t>& groups, gid_t gid) {
  return std::find(groups.begin(), groups.end(), gid) != groups.end();
}

}  // namespace

bool IsTaskName(const std::string& name) {
  if (name.size() > kMaxTaskName) return false;
  int parts = 0;
  bool digit = false;
  for (const char c : name + ".") {
    if (c >= '0' && c <= '9') {
      digit = true;
    } else {
      if (c != '.' || !digit) return false;
      ++parts;
      digit = false;
    }
  }
  return parts == 3;
}

absl::StatusOr<User> CheckStart(const v1::StartTask& start, const StartRules& rules, Users& users) {
  if (!IsTaskName(start.task())) return Bad("task must be <job>.<run>.<rank>, three numbers");
  if (start.argv_size() == 0 || start.argv(0).empty()) return Bad("argv is empty");
  RETURN_IF_ERROR(CheckWords("argv", start.argv()));
  if (start.argv(0).size() > kMaxPath) return Bad("argv[0] is longer than " + std::to_string(kMaxPath) + " bytes");
  RETURN_IF_ERROR(CheckWords("env", start.env()));
  for (const std::string& entry : start.env()) {
    const auto equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) return Bad("env holds an entry that is not NAME=value");
  }
  RETURN_IF_ERROR(CheckPath("workdir", start.workdir()));
  if (!start.stdout_path().empty()) RETURN_IF_ERROR(CheckPath("stdout_path", start.stdout_path()));
  if (!start.stderr_path().empty()) RETURN_IF_ERROR(CheckPath("stderr_path", start.stderr_path()));
  if (start.memory_bytes() < 0) return Bad("memory_bytes is negative");
  if (start.cpus_size() > CPU_SETSIZE) return Bad("cpus holds more than " + std::to_string(CPU_SETSIZE) + " numbers");
  for (const int cpu : start.cpus())
    if (cpu < 0 || cpu >= CPU_SETSIZE) return Bad("cpus holds " + std::to_string(cpu));
  if (start.note().size() > kMaxNote) return Bad("note is longer than " + std::to_string(kMaxNote) + " bytes");

  if (rules.single_user && start.uid() != rules.own_uid)
    return absl::PermissionDeniedError("this node runs tasks of uid " + std::to_string(rules.own_uid) +
                                       " alone, not of uid " + std::to_string(start.uid()));
  if (start.uid() == 0 && !rules.single_user)
    return absl::PermissionDeniedError("tasks never run as root; submit as another user");
  ASSIGN_OR_RETURN(User user, users.Find(start.uid()));
  if (user.name != start.user())
    return absl::PermissionDeniedError("uid " + std::to_string(start.uid()) + " is " + user.name +
                                       " on this node, not the user of the job");
  if (!Has(user.groups, start.gid()) && !(rules.single_user && Has(OwnGroups(), start.gid())))
    return absl::PermissionDeniedError("user " + user.name + " is not in the group " + std::to_string(start.gid()) +
                                       " on this node");
  user.gid = start.gid();
  return user;
}

absl::Status CheckStop(const v1::StopTask& stop) {
  if (!IsTaskName(stop.task())) return Bad("task must be <job>.<run>.<rank>, three numbers");
  if (stop.grace_ns() < 0 || stop.grace_ns() / 1'000'000 > kMaxGraceMs) return Bad("grace_ns is out of range");
  if (stop.signal() < 0 || stop.signal() > 64) return Bad("signal is out of range");
  return absl::OkStatus();
}

}  // namespace sinew::launcher
