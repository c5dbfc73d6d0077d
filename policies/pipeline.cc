// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace sinew {
namespace {

template <typename Id>
void SortUnique(std::vector<Id>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

size_t SlotIndex(const std::string& slot) {
  return std::find(std::begin(kSlots), std::end(kSlots), slot) - std::begin(kSlots);
}

}  // namespace

absl::StatusOr<std::vector<Pipeline::Slot>> Pipeline::MakeSlots(const Registry& registry, const PolicySpec& spec) {
  std::vector<StageSpec> stages = spec.stages;
  std::stable_sort(stages.begin(), stages.end(),
                   [](const StageSpec& a, const StageSpec& b) { return SlotIndex(a.slot) < SlotIndex(b.slot); });
  std::vector<Slot> slots;
  for (const StageSpec& stage : stages) {
    ASSIGN_OR_RETURN(auto made, registry.Make(stage));
    Slot slot;
    slot.label = stage.slot + "/" + stage.name;
    for (const Slot& other : slots) {
      if (other.label == slot.label) return absl::InvalidArgumentError(slot.label + ": named twice");
    }
    slot.state = made->InitialState();
    slot.stage = std::move(made);
    slot.changes.everything = true;
    slots.push_back(std::move(slot));
  }
  return slots;
}

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Make(const Registry& registry, const PolicySpec& spec) {
  for (const char* needed : {"order", "size", "place"}) {
    if (std::none_of(spec.stages.begin(), spec.stages.end(), [&](const StageSpec& s) { return s.slot == needed; })) {
      return absl::InvalidArgumentError(absl::StrCat("policy ", spec.name, " names no stage for \"", needed, "\""));
    }
  }
  std::unique_ptr<Pipeline> pipeline(new Pipeline);
  pipeline->name_ = spec.name;
  ASSIGN_OR_RETURN(pipeline->slots_, MakeSlots(registry, spec));
  // The fall-back never depends on what was registered over the built-in names.
  ASSIGN_OR_RETURN(pipeline->fallback_, MakeSlots(Registry::WithBuiltIns(), DefaultPolicy()));
  return pipeline;
}

void Pipeline::Note(const std::vector<JobId>& jobs, const std::vector<NodeId>& nodes) {
  for (Slot& slot : slots_) {
    if (slot.changes.everything) continue;
    slot.changes.jobs.insert(slot.changes.jobs.end(), jobs.begin(), jobs.end());
    slot.changes.nodes.insert(slot.changes.nodes.end(), nodes.begin(), nodes.end());
  }
}

void Pipeline::NoteEverything() {
  for (Slot& slot : slots_) {
    slot.changes = Changes{};
    slot.changes.everything = true;
  }
}

void Pipeline::NoteTimer() {
  for (Slot& slot : slots_) slot.changes.timer = true;
}

void Pipeline::NoteAnswer(const std::string& stage, Answer answer) {
  for (Slot& slot : slots_) {
    if (slot.label == stage) slot.answers.push_back(std::move(answer));
  }
}

bool Pipeline::Triggered(const Slot& slot) {
  const uint32_t triggers = slot.stage->needs().triggers;
  const Changes& c = slot.changes;
  return c.everything || ((triggers & Needs::kJobs) && !c.jobs.empty()) ||
         ((triggers & Needs::kNodes) && !c.nodes.empty()) || ((triggers & Needs::kTimer) && c.timer) ||
         ((triggers & Needs::kAnswer) && !slot.answers.empty());
}

bool Pipeline::WantsToRun() const { return std::any_of(slots_.begin(), slots_.end(), Triggered); }

Pipeline::Result Pipeline::Run(const View& view) const {
  Result result;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (!Triggered(slot)) continue;
    Changes changes = slot.changes;
    SortUnique(changes.jobs);
    SortUnique(changes.nodes);
    std::unique_ptr<StageState> state = slot.state->Clone();
    const size_t asked = result.draft.questions().size();
    absl::Status status;
    try {
      status = slot.stage->Run(view, changes, slot.answers, *state, result.draft);
    } catch (const std::exception& e) {
      status = absl::InternalError(e.what());
    }
    if (!status.ok()) {
      result.error = absl::StrCat(slot.label, ": ", std::string(status.message()));
      FallBack(view, result);
      return result;
    }
    for (size_t q = asked; q < result.draft.questions().size(); ++q) result.draft.questions()[q].stage = slot.label;
    std::string bytes = state->Encode();
    if (bytes != slot.state->Encode() || state->version() != slot.state->version()) {
      result.states.push_back({slot.label, state->version(), std::move(bytes)});
    }
    result.ran.push_back(i);
    result.next_states.push_back(std::move(state));
  }
  return result;
}

void Pipeline::FallBack(const View& view, Result& result) const {
  result.fell_back = true;
  result.draft = Draft();
  result.states.clear();
  result.ran.clear();
  result.next_states.clear();
  Changes everything;
  everything.everything = true;
  for (const Slot& slot : fallback_) {
    const auto state = slot.state->Clone();
    if (const absl::Status status = slot.stage->Run(view, everything, {}, *state, result.draft); !status.ok()) {
      absl::StrAppend(&result.error, "; and the fall-back: ", std::string(status.message()));
      result.draft = Draft();
      return;
    }
  }
}

void Pipeline::Accept(Result&& result) {
  if (result.fell_back) {
    // Every stage looks at everything once something changes again; until then the plan of the fall-back stands.
    for (Slot& slot : slots_) {
      slot.changes = Changes{};
      slot.answers.clear();
    }
    return;
  }
  for (size_t k = 0; k < result.ran.size(); ++k) {
    Slot& slot = slots_[result.ran[k]];
    slot.state = std::move(result.next_states[k]);
    slot.changes = Changes{};
    slot.answers.clear();
  }
}

void Pipeline::Restore(const std::vector<StageStateRecord>& states) {
  for (const StageStateRecord& record : states) {
    for (Slot& slot : slots_) {
      if (slot.label != record.stage) continue;
      std::unique_ptr<StageState> state;
      if (slot.stage->DecodeState(record.version, record.bytes, state).ok() && state) {
        slot.state = std::move(state);
      } else {
        slot.state = slot.stage->InitialState();
      }
      slot.changes.everything = true;
    }
  }
}

}  // namespace sinew
