// SPDX-License-Identifier: Apache-2.0
#include "agent/discover/limits.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/files.h"

namespace sinew::agent {
namespace {

constexpr const char* kMount = "/sys/fs/cgroup";

// The first two words of a file as numbers; "max" and whatever is not a number are INT64_MAX.
struct Pair {
  int64_t first = INT64_MAX, second = INT64_MAX;
};

Pair Numbers(const std::string& path) {
  Pair pair;
  const auto text = ReadFile(path);
  if (!text.ok()) return pair;
  std::istringstream words(*text);
  for (int64_t* number : {&pair.first, &pair.second}) {
    std::string word;
    words >> word;
    std::from_chars(word.data(), word.data() + word.size(), *number);
  }
  return pair;
}

void TakeCpus(int64_t quota_us, int64_t period_us, Limits& limits) {
  if (quota_us <= 0 || quota_us == INT64_MAX || period_us <= 0 || period_us > 1'000'000'000) return;
  limits.milli_cpus = std::min(limits.milli_cpus, std::max<int64_t>(1, quota_us * 1000 / period_us));
}

void TakeMemory(int64_t bytes, Limits& limits) {
  if (bytes > 0) limits.memory_bytes = std::min(limits.memory_bytes, bytes);
}

// Calls visit(folder) for mount + path and each of its ancestors down to the mount. Without a cgroup namespace the
// path names folders that a container does not see; its mount is then its own group.
template <typename Visit>
void Ancestors(const std::string& mount, std::string path, const Visit& visit) {
  while (true) {
    visit(mount + path);
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return;
    path.resize(slash);
  }
}

}  // namespace

Limits CgroupLimits(const std::string& sysroot) {
  Limits limits;
  std::istringstream lines(ReadFile(sysroot + "/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path.find("..") != std::string::npos) continue;
    if (path == "/") path.clear();
    const auto has = [&](const std::string& name) { return ("," + controllers + ",").find("," + name + ",") != std::string::npos; };
    if (controllers.empty()) {
      for (const char* mount : {"", "/unified"}) {
        Ancestors(sysroot + kMount + mount, path, [&](const std::string& folder) {
          const Pair cpu = Numbers(folder + "/cpu.max");
          TakeCpus(cpu.first, cpu.second, limits);
          TakeMemory(Numbers(folder + "/memory.max").first, limits);
        });
      }
    }
    if (has("cpu")) {
      Ancestors(sysroot + kMount + "/cpu", path, [&](const std::string& folder) {
        TakeCpus(Numbers(folder + "/cpu.cfs_quota_us").first, Numbers(folder + "/cpu.cfs_period_us").first, limits);
      });
    }
    if (has("memory")) {
      Ancestors(sysroot + kMount + "/memory", path, [&](const std::string& folder) {
        TakeMemory(Numbers(folder + "/memory.limit_in_bytes").first, limits);
      });
    }
  }
  return limits;
}

}  // namespace sinew::agent
