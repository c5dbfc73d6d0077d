// SPDX-License-Identifier: Apache-2.0
#include "agent/discover/described.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "agent/discover/cpu_list.h"
#include "base/files.h"
#include "base/quantity.h"
#include "base/status_macros.h"
#include "base/yaml.h"

namespace sinew::agent {
namespace {

using yaml::Value;
using Entries = std::vector<std::pair<std::string, Value>>;

constexpr int64_t kMaxDevices = 4096;  // as the daemon accepts
constexpr int32_t kMaxCpus = 65'536;

absl::Status Word(const Value& value, const std::vector<std::string>& known, std::string& out) {
  ASSIGN_OR_RETURN(out, value.String());
  if (std::find(known.begin(), known.end(), out) != known.end()) return absl::OkStatus();
  std::string list;
  for (const std::string& word : known) list += (list.empty() ? "" : ", ") + word;
  return value.Error("\"" + out + "\" is not known; known are: " + list);
}

class Reader {
 public:
  explicit Reader(v1::NodeInfo& node) : node_(node) {}

  absl::Status Root(const Value& root) {
    const Value* devices = nullptr;
    ASSIGN_OR_RETURN(const Entries entries, root.Map({"cpus", "memory", "cpu_model", "idle_power", "max_power", "numa",
                                                      "knl", "devices"}));
    for (const auto& [key, value] : entries) {
      if (key == "cpus") {
        ASSIGN_OR_RETURN(const int64_t cpus, value.Int(1, kMaxCpus));
        node_.set_milli_cpus(cpus * 1000);
      } else if (key == "memory") {
        ASSIGN_OR_RETURN(const int64_t bytes, Size(value));
        node_.set_memory_bytes(bytes);
      } else if (key == "cpu_model") {
        ASSIGN_OR_RETURN(*node_.mutable_cpu_model(), value.String());
      } else if (key == "idle_power") {
        ASSIGN_OR_RETURN(const int64_t power, value.Milliwatts());
        node_.set_idle_milliwatts(power);
      } else if (key == "max_power") {
        ASSIGN_OR_RETURN(const int64_t power, value.Milliwatts());
        node_.set_max_milliwatts(power);
      } else if (key == "numa") {
        RETURN_IF_ERROR(Numa(value));
      } else if (key == "knl") {
        RETURN_IF_ERROR(Knl(value));
      } else {
        devices = &value;
      }
    }
    if (node_.milli_cpus() == 0) return root.Error("cpus: is missing; how many CPUs has the node?");
    if (node_.memory_bytes() == 0) return root.Error("memory: is missing; how much memory has the node?");
    for (const auto& [key, value] : entries) {
      if (key == "numa") RETURN_IF_ERROR(CheckNuma(value));
      if (key == "max_power" && node_.max_milliwatts() < node_.idle_milliwatts()) {
        return value.Error("is below idle_power");
      }
    }
    return devices == nullptr ? absl::OkStatus() : Devices(*devices);
  }

 private:
  absl::StatusOr<int64_t> Size(const Value& value) {
    ASSIGN_OR_RETURN(const int64_t bytes, value.Bytes());
    if (bytes == 0) return value.Error("0 is not above 0");
    return bytes;
  }

  absl::Status Numa(const Value& value) {
    ASSIGN_OR_RETURN(const std::vector<Value> items, value.List());
    for (const Value& item : items) {
      v1::NumaNode& numa = *node_.add_numa();
      numa.set_index(node_.numa_size() - 1);
      ASSIGN_OR_RETURN(const Entries entries, item.Map({"cpus", "memory"}));
      for (const auto& [key, field] : entries) {
        if (key == "memory") {
          ASSIGN_OR_RETURN(const int64_t bytes, Size(field));
          numa.set_memory_bytes(bytes);
          continue;
        }
        ASSIGN_OR_RETURN(const std::string text, field.String());
        const auto cpus = ParseCpuList(text, kMaxCpus - 1);
        if (!cpus.ok()) return field.Error(std::string(cpus.status().message()));
        numa.mutable_cpus()->Assign(cpus->begin(), cpus->end());
      }
    }
    return absl::OkStatus();
  }

  // NUMA nodes share out the CPUs and the memory that the node has; those without CPUs bring memory of their own.
  absl::Status CheckNuma(const Value& value) {
    ASSIGN_OR_RETURN(const std::vector<Value> items, value.List());
    std::vector<bool> taken(static_cast<size_t>(node_.milli_cpus() / 1000));
    int64_t bytes = 0;
    for (int i = 0; i < node_.numa_size(); ++i) {
      const v1::NumaNode& numa = node_.numa(i);
      if (numa.cpus_size() > 0) bytes += numa.memory_bytes();
      for (const int32_t cpu : numa.cpus()) {
        const auto at = static_cast<size_t>(cpu);
        if (at >= taken.size()) {
          return items[static_cast<size_t>(i)].Error("has CPU " + std::to_string(cpu) + ", but the node's last is " +
                                                     std::to_string(taken.size() - 1));
        }
        if (taken[at]) return items[static_cast<size_t>(i)].Error("has CPU " + std::to_string(cpu) + ", which another has");
        taken[at] = true;
      }
    }
    if (bytes > node_.memory_bytes()) return value.Error("has more memory than the node");
    return absl::OkStatus();
  }

  absl::Status Knl(const Value& value) {
    ASSIGN_OR_RETURN(const Entries entries, value.Map({"cluster_mode", "memory_mode"}));
    for (const auto& [key, field] : entries) {
      if (key == "cluster_mode") {
        RETURN_IF_ERROR(Word(field, {"quadrant", "hemisphere", "all2all", "snc2", "snc4"},
                             *node_.mutable_knl_cluster_mode()));
      } else {
        RETURN_IF_ERROR(Word(field, {"cache", "flat", "hybrid25", "hybrid50"}, *node_.mutable_knl_memory_mode()));
      }
    }
    if (node_.knl_cluster_mode().empty()) return value.Error("cluster_mode: is missing");
    if (node_.knl_memory_mode().empty()) return value.Error("memory_mode: is missing");
    node_.set_knl_mode_source("described");
    return absl::OkStatus();
  }

  absl::Status Devices(const Value& value) {
    ASSIGN_OR_RETURN(const std::vector<Value> items, value.List());
    for (const Value& item : items) {
      v1::DeviceInfo device;
      int64_t count = 1;
      ASSIGN_OR_RETURN(const Entries entries, item.Map({"type", "count", "memory", "idle_power", "max_power", "numa",
                                                        "island"}));
      for (const auto& [key, field] : entries) {
        if (key == "type") {
          ASSIGN_OR_RETURN(*device.mutable_type(), field.String());
          RETURN_IF_ERROR(CheckType(field, device.type()));
        } else if (key == "count") {
          ASSIGN_OR_RETURN(count, field.Int(1, kMaxDevices));
        } else if (key == "memory") {
          ASSIGN_OR_RETURN(const int64_t bytes, field.Bytes());
          device.set_memory_bytes(bytes);
        } else if (key == "idle_power") {
          ASSIGN_OR_RETURN(const int64_t power, field.Milliwatts());
          device.set_idle_milliwatts(power);
        } else if (key == "max_power") {
          ASSIGN_OR_RETURN(const int64_t power, field.Milliwatts());
          device.set_max_milliwatts(power);
        } else if (key == "numa") {
          ASSIGN_OR_RETURN(const int64_t numa, field.Int(0, std::max(0, node_.numa_size() - 1)));
          device.set_numa_node(static_cast<int32_t>(numa));
        } else {
          ASSIGN_OR_RETURN(const int64_t island, field.Int(0, kMaxDevices));
          device.set_island(static_cast<int32_t>(island));
        }
      }
      if (device.type().empty()) return item.Error("type: is missing; such as cpu-slot, knl or v100");
      if (device.max_milliwatts() != 0 && device.max_milliwatts() < device.idle_milliwatts()) {
        return item.Error("max_power: is below idle_power");
      }
      if (node_.devices_size() + count > kMaxDevices) {
        return item.Error("count: a node has at most " + std::to_string(kMaxDevices) + " devices");
      }
      for (; count > 0; --count) {
        device.set_index(node_.devices_size());
        *node_.add_devices() = device;
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckType(const Value& value, const std::string& type) {
    const bool good = !type.empty() && type.size() <= 63 &&
                      type.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-._") == std::string::npos;
    if (good) return absl::OkStatus();
    return value.Error("\"" + type + "\" is not a device type: 1 to 63 small letters, digits, dashes, dots and "
                       "underscores, such as v100");
  }

  v1::NodeInfo& node_;
};

}  // namespace

absl::StatusOr<v1::NodeInfo> ParseDescription(const std::string& text, const std::string& name) {
  ASSIGN_OR_RETURN(const Value root, yaml::Parse(text, name));
  v1::NodeInfo node;
  RETURN_IF_ERROR(Reader(node).Root(root));
  node.set_described(true);
  return node;
}

absl::StatusOr<v1::NodeInfo> DescribedNode(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  return ParseDescription(text, file);
}

}  // namespace sinew::agent
