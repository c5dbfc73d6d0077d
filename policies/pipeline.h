// SPDX-License-Identifier: Apache-2.0
// A policy at work: stages in order over one draft, their states, and the fall-back when one fails.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "policies/registry.h"
#include "policies/stage.h"

namespace sinew {

struct StageStateRecord {
  std::string stage;  // "place/pack"
  uint32_t version = 0;
  std::string bytes;
};

// Keeps what changed for each stage apart: a stage that did not run keeps collecting. One thread.
class Pipeline {
 public:
  static absl::StatusOr<std::unique_ptr<Pipeline>> Make(const Registry& registry, const PolicySpec& spec);

  const std::string& name() const { return name_; }

  // To be told of everything that changed, after each commit.
  void Note(const std::vector<JobId>& jobs, const std::vector<NodeId>& nodes);
  void NoteEverything();
  void NoteTimer();  // a wake-up that a stage had asked for is due
  void NoteAnswer(const std::string& stage, Answer answer);
  bool WantsToRun() const;

  struct Result {
    Draft draft;
    std::vector<StageStateRecord> states;  // those that changed
    bool fell_back = false;
    std::string error;  // which stage, and why

   private:
    friend class Pipeline;
    std::vector<size_t> ran;                              // slots that ran
    std::vector<std::unique_ptr<StageState>> next_states;  // of those
  };
  // One pass. Changes nothing in the pipeline until Accept is called with the same result (so that a pass whose commit
  // failed, or a "what if", leaves no trace).
  Result Run(const View& view) const;
  void Accept(Result&& result);

  // States saved with an earlier commit, at start.
  void Restore(const std::vector<StageStateRecord>& states);

 private:
  struct Slot {
    std::string label;
    std::unique_ptr<Stage> stage;
    std::unique_ptr<StageState> state;
    Changes changes;
    Answers answers;
  };
  Pipeline() = default;
  static absl::StatusOr<std::vector<Slot>> MakeSlots(const Registry& registry, const PolicySpec& spec);
  static bool Triggered(const Slot& slot);
  void FallBack(const View& view, Result& result) const;

  std::string name_;
  std::vector<Slot> slots_;
  std::vector<Slot> fallback_;
};

}  // namespace sinew
