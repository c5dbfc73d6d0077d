// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/quantity.h"
#include "base/status_macros.h"
#include "policies/order/fifo.h"
#include "policies/place/in_order.h"
#include "policies/size/fixed.h"

namespace sinew {

absl::StatusOr<double> StageParams::Number(std::string_view key, double fallback, double lowest, double highest) {
  taken_.emplace_back(key);
  auto it = values_.find(std::string(key));
  if (it == values_.end()) return fallback;
  char* end = nullptr;
  const double value = std::strtod(it->second.c_str(), &end);
  if (it->second.empty() || *end != '\0' || !(value >= lowest && value <= highest)) {
    return absl::InvalidArgumentError(absl::StrCat(it->first, ": \"", it->second, "\" is not a number from ", lowest,
                                                   " to ", highest));
  }
  return value;
}

absl::StatusOr<std::string> StageParams::Text(std::string_view key, std::string_view fallback) {
  taken_.emplace_back(key);
  auto it = values_.find(std::string(key));
  return it == values_.end() ? std::string(fallback) : it->second;
}

std::vector<std::string> StageParams::Untaken() const {
  std::vector<std::string> left;
  for (const auto& [key, value] : values_) {
    if (std::find(taken_.begin(), taken_.end(), key) == taken_.end()) left.push_back(key);
  }
  return left;
}

Registry Registry::WithBuiltIns() {
  Registry registry;
  registry.Register("order", "fifo", "the job submitted first runs first",
                    [](StageParams&) { return std::make_unique<Fifo>(); });
  registry.Register("size", "fixed", "as many workers as the job asked for",
                    [](StageParams&) { return std::make_unique<FixedSize>(); });
  registry.Register("place", "pack", "on as few nodes as possible, filling those that are in use",
                    [](StageParams&) { return std::make_unique<PlaceInOrder>(Preference::kPack); });
  registry.Register("place", "spread", "on as many nodes as possible, the emptiest first",
                    [](StageParams&) { return std::make_unique<PlaceInOrder>(Preference::kSpread); });
  return registry;
}

void Registry::Register(std::string_view slot, std::string_view name, std::string_view help, Factory factory) {
  stages_[{std::string(slot), std::string(name)}] = {std::string(help), std::move(factory)};
}

absl::StatusOr<std::unique_ptr<Stage>> Registry::Make(const StageSpec& spec) const {
  auto it = stages_.find({spec.slot, spec.name});
  if (it == stages_.end()) {
    std::vector<std::string> known;
    for (const auto& [key, registered] : stages_) {
      if (key.first == spec.slot) known.push_back(key.second);
    }
    if (known.empty()) {
      const bool is_slot = std::find(std::begin(kSlots), std::end(kSlots), spec.slot) != std::end(kSlots);
      return absl::InvalidArgumentError(absl::StrCat(
          spec.slot, is_slot ? ": no stage of this kind is built in" : ": unknown kind of stage"));
    }
    return absl::InvalidArgumentError(absl::StrCat(spec.slot, ": unknown stage \"", spec.name, "\"",
                                                   DidYouMean(spec.name, known), " (known: ",
                                                   absl::StrJoin(known, ", "), ")"));
  }
  StageParams params(spec.params);
  auto stage = it->second.factory(params);
  if (!stage.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.slot, ".", spec.name, ".", std::string(stage.status().message())));
  }
  if (const auto untaken = params.Untaken(); !untaken.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(spec.slot, ".", spec.name, ".", untaken[0], ": unknown parameter"));
  }
  return stage;
}

std::vector<Registry::Entry> Registry::List() const {
  std::vector<Entry> entries;
  for (const auto& [key, registered] : stages_) entries.push_back({key.first, key.second, registered.help});
  return entries;
}

PolicySpec DefaultPolicy() {
  return {.name = "fifo-pack",
          .stages = {{"order", "fifo", {}}, {"size", "fixed", {}}, {"place", "pack", {}}}};
}

}  // namespace sinew
