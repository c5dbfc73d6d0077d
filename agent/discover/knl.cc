// SPDX-License-Identifier: Apache-2.0
#include "agent/discover/knl.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "agent/discover/cpu_list.h"
#include "base/files.h"

namespace sinew::agent {
namespace {

constexpr int64_t kMcdramBytes = int64_t{16} << 30;  // on every part that was sold

std::string Strip(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

// "key : value" lines; the first of each key.
std::map<std::string, std::string> KeyValues(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos) values.emplace(Strip(line.substr(0, colon)), Strip(line.substr(colon + 1)));
  }
  return values;
}

bool IsKnl(const std::string& sysroot) {
  // The first processor is enough, and the file is long on machines with many.
  std::string text = ReadFile(sysroot + "/proc/cpuinfo").value_or("");
  auto values = KeyValues(text.substr(0, text.find("\n\n")));
  return values["vendor_id"] == "GenuineIntel" && values["cpu family"] == "6" &&
         (values["model"] == "87" || values["model"] == "133");
}

std::string Known(const std::string& word, const std::vector<std::string>& known) {
  std::string lower;
  for (const char c : word) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(known.begin(), known.end(), lower) == known.end() ? "" : lower;
}

std::optional<KnlModes> Dumped(const std::string& sysroot) {
  for (const char* folder : {"/run/hwloc", "/var/run/hwloc"}) {
    const auto text = ReadFile(sysroot + folder + "/knl_memoryside_cache");
    if (!text.ok()) continue;
    auto values = KeyValues(*text);
    KnlModes modes{Known(values["cluster_mode"], {"quadrant", "hemisphere", "all2all", "snc2", "snc4"}),
                   Known(values["memory_mode"], {"cache", "flat", "hybrid25", "hybrid50"}), "smbios"};
    if (!modes.cluster.empty() && !modes.memory.empty()) return modes;
  }
  return std::nullopt;
}

KnlModes Guess(const std::vector<KernelNuma>& numa) {
  size_t with_cpus = 0;
  int64_t memory_only = 0;
  for (const KernelNuma& node : numa) {
    if (!node.cpus.empty()) ++with_cpus;
    else memory_only += node.memory_bytes;
  }
  KnlModes modes{"quadrant", "cache", "guessed"};
  if (with_cpus == 2) modes.cluster = "snc2";
  if (with_cpus == 4) modes.cluster = "snc4";
  if (memory_only == 0) return modes;
  // What is missing of the 16 GiB is cache; the kernel keeps a few percent for itself.
  const double share = static_cast<double>(memory_only) / static_cast<double>(kMcdramBytes);
  modes.memory = share > 0.85 ? "flat" : share > 0.62 ? "hybrid25" : "hybrid50";
  return modes;
}

}  // namespace

std::vector<KernelNuma> ReadKernelNuma(const std::string& sysroot) {
  std::vector<KernelNuma> nodes;
  const std::string folder = sysroot + "/sys/devices/system/node/";
  const auto online = ParseCpuList(ReadFile(folder + "online").value_or(""));
  if (!online.ok()) return nodes;
  for (const int32_t index : *online) {
    KernelNuma node;
    node.index = index;
    const std::string own = folder + "node" + std::to_string(index) + "/";
    node.cpus = ParseCpuList(ReadFile(own + "cpulist").value_or("")).value_or(std::vector<int32_t>());
    std::istringstream words(ReadFile(own + "meminfo").value_or(""));
    for (std::string word; words >> word;) {
      if (word != "MemTotal:") continue;
      int64_t kibibytes = 0;
      if (words >> kibibytes && kibibytes > 0 && kibibytes < INT64_MAX / 1024) node.memory_bytes = kibibytes * 1024;
      break;
    }
    // A node with neither is a place for memory that was never plugged in.
    if (!node.cpus.empty() || node.memory_bytes > 0) nodes.push_back(std::move(node));
  }
  return nodes;
}

std::optional<KnlModes> ReadKnl(const std::string& sysroot, const std::vector<KernelNuma>& numa) {
  if (!IsKnl(sysroot)) return std::nullopt;
  if (auto dumped = Dumped(sysroot)) return dumped;
  return Guess(numa);
}

}  // namespace sinew::agent
