// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policy_file.h"

#include <filesystem>

#include "base/files.h"
#include "base/status_macros.h"
#include "base/yaml.h"

namespace sinew {
namespace {

absl::StatusOr<StageSpec> ReadStage(const std::string& slot, const yaml::Value& value) {
  StageSpec stage;
  stage.slot = slot;
  if (value.IsScalar()) {
    ASSIGN_OR_RETURN(stage.name, value.String());
    return stage;
  }
  ASSIGN_OR_RETURN(const auto entries, value.Map());
  if (entries.size() != 1) return value.Error("must name one stage; a list holds several");
  stage.name = entries[0].first;
  if (entries[0].second.IsNull()) return stage;
  ASSIGN_OR_RETURN(const auto params, entries[0].second.Map());
  for (const auto& [key, param] : params) {
    ASSIGN_OR_RETURN(stage.params[key], param.String());
  }
  return stage;
}

}  // namespace

absl::StatusOr<PolicySpec> ParsePolicy(const std::string& text, const std::string& file, const std::string& name) {
  ASSIGN_OR_RETURN(const yaml::Value root, yaml::Parse(text, file));
  ASSIGN_OR_RETURN(const auto entries, root.Map({std::begin(kSlots), std::end(kSlots)}));
  PolicySpec spec;
  spec.name = name;
  for (const auto& [slot, value] : entries) {
    if (value.IsList()) {
      ASSIGN_OR_RETURN(const auto items, value.List());
      for (const yaml::Value& item : items) {
        ASSIGN_OR_RETURN(StageSpec stage, ReadStage(slot, item));
        spec.stages.push_back(std::move(stage));
      }
    } else {
      ASSIGN_OR_RETURN(StageSpec stage, ReadStage(slot, value));
      spec.stages.push_back(std::move(stage));
    }
  }
  return spec;
}

absl::StatusOr<PolicySpec> ReadPolicyFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, yaml::kMaxBytes + 1));
  return ParsePolicy(text, path, std::filesystem::path(path).stem());
}

}  // namespace sinew
