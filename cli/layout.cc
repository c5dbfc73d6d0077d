// SPDX-License-Identifier: Apache-2.0
#include "cli/layout.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "base/files.h"

namespace sinew::cli {
namespace {

// Room for the longest name in the run folder, "/<node name>.launcher".
constexpr size_t kLongestRunFolder = 107 - 45;

std::string Absolute(const std::string& dir) {
  std::error_code error;
  std::string path = std::filesystem::weakly_canonical(ExpandUser(dir), error).string();
  if (error) path = std::filesystem::absolute(ExpandUser(dir)).string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string Hash(const std::string& text) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char hex[20];
  std::snprintf(hex, sizeof(hex), "%016llx", static_cast<unsigned long long>(hash));
  return hex;
}

}  // namespace

Layout EmbeddedLayout(const std::string& dir) {
  Layout layout;
  if (dir.empty()) {
    layout.config = ConfigHome() + "/sinewd.yaml";
    layout.marker = ConfigHome() + "/initialized";
    layout.data = StateHome();
    layout.run = RuntimeHome();
  } else {
    const std::string root = Absolute(dir);
    layout.config = root + "/sinewd.yaml";
    layout.marker = root + "/initialized";
    layout.data = root + "/state";
    layout.run = root + "/run";
  }
  if (layout.run.size() > kLongestRunFolder) {
    layout.run = "/tmp/sinew-" + std::to_string(::getuid()) + "-" + Hash(layout.run);
  }
  layout.state_dir = layout.data + "/sinewd";
  layout.socket = layout.run + "/sinewd.sock";
  layout.record = layout.run + "/processes";
  return layout;
}

}  // namespace sinew::cli
