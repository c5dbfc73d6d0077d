// SPDX-License-Identifier: Apache-2.0
// Stages by name, and policies read from their description. No globals: the daemon makes a registry and hands it on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "policies/stage.h"

namespace sinew {

// The slots of a pipeline, in the order in which they run.
inline constexpr std::string_view kSlots[] = {"admit", "order", "size", "place", "tune", "power", "serve"};

// Parameters of a stage as its policy file gives them: scalars by key. Reading them is strict: Registry::Make reports
// keys that the factory did not take.
class StageParams {
 public:
  explicit StageParams(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  absl::StatusOr<double> Number(std::string_view key, double fallback, double lowest, double highest);
  absl::StatusOr<std::string> Text(std::string_view key, std::string_view fallback);
  std::vector<std::string> Untaken() const;

 private:
  std::map<std::string, std::string> values_;
  std::vector<std::string> taken_;
};

struct StageSpec {
  std::string slot;  // one of kSlots
  std::string name;  // "fifo"
  std::map<std::string, std::string> params;
};

// A policy file, read. Reading the YAML is the daemon's work (policies do no I/O).
struct PolicySpec {
  std::string name;
  std::vector<StageSpec> stages;  // in pipeline order; a slot may hold several
};

class Registry {
 public:
  using Factory = std::function<absl::StatusOr<std::unique_ptr<Stage>>(StageParams&)>;

  // With every built-in stage.
  static Registry WithBuiltIns();

  void Register(std::string_view slot, std::string_view name, std::string_view help, Factory factory);
  // Unknown names are refused with the nearest known one and the whole list.
  absl::StatusOr<std::unique_ptr<Stage>> Make(const StageSpec& spec) const;
  struct Entry {
    std::string slot, name, help;
  };
  std::vector<Entry> List() const;

 private:
  struct Registered {
    std::string help;
    Factory factory;
  };
  std::map<std::pair<std::string, std::string>, Registered> stages_;
};

// order: fifo, size: fixed, place: pack.
PolicySpec DefaultPolicy();

}  // namespace sinew
