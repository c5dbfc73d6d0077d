// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config.h"

#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/status_macros.h"
#include "base/yaml.h"
#include "scheduler/policy_file.h"

namespace sinew {
namespace {

constexpr int64_t kLeastKept = int64_t{3600} * 1'000'000'000;

std::string Absolute(const std::string& path, const std::string& config) {
  const std::string expanded = ExpandUser(path);
  if (!expanded.empty() && expanded[0] == '/') return expanded;
  return std::filesystem::absolute(config).parent_path() / expanded;
}

absl::StatusOr<ConfiguredNode> ReadNode(const yaml::Value& value) {
  ConfiguredNode node;
  ASSIGN_OR_RETURN(const auto entries, value.Map({"name", "pool"}));
  for (const auto& [key, entry] : entries) {
    ASSIGN_OR_RETURN((key == "name" ? node.name : node.pool), entry.String());
  }
  if (node.name.empty()) return value.Error("a node needs a name");
  return node;
}

}  // namespace

absl::StatusOr<Config> ReadConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, yaml::kMaxBytes + 1));
  ASSIGN_OR_RETURN(const yaml::Value root, yaml::Parse(text, path));
  Config config;
  config.policy = DefaultPolicy();
  ASSIGN_OR_RETURN(const auto entries, root.Map({"state_dir", "socket", "socket_mode", "agents", "policy", "nodes",
                                                 "log_level", "start_limit", "retention"}));
  for (const auto& [key, value] : entries) {
    if (key == "state_dir") {
      ASSIGN_OR_RETURN(const std::string dir, value.String());
      config.state_dir = Absolute(dir, path);
    } else if (key == "socket") {
      ASSIGN_OR_RETURN(const std::string socket, value.String());
      config.socket = Absolute(socket, path);
    } else if (key == "socket_mode") {
      ASSIGN_OR_RETURN(const std::string mode, value.String());
      if (mode.size() != 4 || mode.find_first_not_of("01234567") != std::string::npos || mode[0] != '0') {
        return value.Error("\"" + mode + "\" is not a mode such as 0660 or 0666");
      }
      config.socket_mode = std::stol(mode, nullptr, 8);
    } else if (key == "agents") {
      ASSIGN_OR_RETURN(const auto agents, value.Map({"uids"}));
      for (const auto& [name, uids] : agents) {
        ASSIGN_OR_RETURN(const auto list, uids.List());
        for (const yaml::Value& uid : list) {
          ASSIGN_OR_RETURN(const int64_t number, uid.Int(0, UINT32_MAX));
          config.agent_uids.insert(static_cast<uint32_t>(number));
        }
      }
    } else if (key == "policy") {
      ASSIGN_OR_RETURN(const std::string file, value.String());
      auto policy = ReadPolicyFile(Absolute(file, path));
      if (!policy.ok()) return value.Error(std::string(policy.status().message()));
      config.policy = *std::move(policy);
    } else if (key == "nodes") {
      ASSIGN_OR_RETURN(const auto list, value.List());
      for (const yaml::Value& item : list) {
        ASSIGN_OR_RETURN(ConfiguredNode node, ReadNode(item));
        config.nodes.push_back(std::move(node));
      }
    } else if (key == "log_level") {
      ASSIGN_OR_RETURN(config.log_level, value.String());
      if (config.log_level != "debug" && config.log_level != "info" && config.log_level != "warn" &&
          config.log_level != "error") {
        return value.Error("\"" + config.log_level + "\" is not one of debug, info, warn, error");
      }
    } else if (key == "retention") {
      ASSIGN_OR_RETURN(const auto retention, value.Map({"jobs"}));
      for (const auto& [what, time] : retention) {
        ASSIGN_OR_RETURN(config.keep_jobs_ns, time.DurationNs());
        if (config.keep_jobs_ns < kLeastKept) return time.Error("must be at least 1h");
      }
    } else if (key == "start_limit") {
      ASSIGN_OR_RETURN(config.start_limit_ns, value.DurationNs());
      if (config.start_limit_ns < 1'000'000'000) return value.Error("must be at least 1s");
    }
  }
  if (config.state_dir.empty()) return root.Error("state_dir: is missing; name the folder that keeps the state");
  if (config.agent_uids.empty()) config.agent_uids.insert(::getuid());
  return config;
}

}  // namespace sinew
