// SPDX-License-Identifier: Apache-2.0
// The one interface of every policy: a stage reads a snapshot and what changed, and refines the draft. It is const and
// pure (no I/O, no clock, no globals), and what it must remember is a value, so the same pass answers "what if" and a
// replay is exact.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "policies/draft.h"
#include "policies/view.h"

namespace sinew {

// What a stage remembers between passes. Cloned before a pass and kept only with the commit.
class StageState {
 public:
  virtual ~StageState() = default;
  virtual std::unique_ptr<StageState> Clone() const = 0;
  virtual uint32_t version() const = 0;           // of the encoding
  virtual std::string Encode() const = 0;         // saved with the commit
};

// A state for stages that remember nothing.
class NoState final : public StageState {
 public:
  std::unique_ptr<StageState> Clone() const override { return std::make_unique<NoState>(); }
  uint32_t version() const override { return 0; }
  std::string Encode() const override { return ""; }
};

// When a stage wants to run, what it reads and which records it writes. Bit sets of the enums below.
struct Needs {
  enum Trigger : uint32_t { kJobs = 1, kNodes = 2, kTimer = 4, kAnswer = 8, kSeries = 16, kMetric = 32, kBudget = 64 };
  enum Read : uint32_t { kCluster = 1, kEstimates = 2, kSeriesData = 4, kLedger = 8, kCalendar = 16, kHistory = 32 };
  enum Write : uint32_t {
    kOrder = 1, kRun = 2, kWait = 4, kSuspendResume = 8, kReject = 16, kDeviceClock = 32, kNodePower = 64,
    kDataset = 128, kService = 256, kReserve = 512, kWakeUp = 1024, kQuestion = 2048, kResize = 4096
  };
  uint32_t triggers = kJobs | kNodes;
  uint32_t reads = kCluster;
  uint32_t writes = 0;
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual Needs needs() const = 0;
  virtual std::unique_ptr<StageState> InitialState() const { return std::make_unique<NoState>(); }
  // Fails on an encoding it does not know; the pipeline then starts from InitialState and sets Changes::everything.
  virtual absl::Status DecodeState(uint32_t version, const std::string& bytes,
                                   std::unique_ptr<StageState>& state) const {
    state = InitialState();
    return absl::OkStatus();
  }
  // An error costs this pass its proposal: the pipeline falls back to fifo + pack, with the reason on record.
  virtual absl::Status Run(const View& view, const Changes& changes, const Answers& answers, StageState& state,
                           Draft& draft) const = 0;
};

}  // namespace sinew
