// SPDX-License-Identifier: Apache-2.0
#include "agent/discover/cpu_list.h"

#include <charconv>
#include <set>

#include "absl/status/status.h"

namespace sinew::agent {

absl::StatusOr<std::vector<int32_t>> ParseCpuList(const std::string& text, int32_t highest) {
  std::set<int32_t> cpus;
  const auto refuse = [&] {
    return absl::InvalidArgumentError("\"" + text + "\" is not a list of numbers from 0 to " + std::to_string(highest) +
                                      ", such as 0-3,8");
  };
  const char *at = text.data(), *end = text.data() + text.size();
  while (end != at && (end[-1] == '\n' || end[-1] == ' ')) --end;
  if (at == end) return std::vector<int32_t>();
  for (;; ++at) {
    int32_t first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc() || first < 0 || first > highest) return refuse();
    int32_t last = first;
    if (read.ptr != end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
      if (read.ec != std::errc() || last < first || last > highest) return refuse();
    }
    for (int32_t cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
    at = read.ptr;
    if (at == end) return std::vector<int32_t>(cpus.begin(), cpus.end());
    if (*at != ',') return refuse();
  }
}

}  // namespace sinew::agent
