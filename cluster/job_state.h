// SPDX-License-Identifier: Apache-2.0
// The states of a job and the one table of allowed transitions. Numbers equal sinew.v1.JobState.
#pragma once

#include <cstdint>
#include <string_view>

namespace sinew {

enum class JobState : uint8_t {
  kPending = 1,    // waits; holds nothing
  kStarting = 2,   // the gang is being prepared: devices are held, not all ranks are ready
  kRunning = 3,    // every rank was told to go
  kResizing = 4,   // a new membership is being prepared while the job runs
  kStopping = 5,   // told to stop; some process may still be alive, so everything is still held
  kSuspended = 6,  // stopped by the policy, with a checkpoint; holds nothing
  kCompleted = 7,
  kFailed = 8,
  kCancelled = 9,
  kTimedOut = 10,
  kRejected = 11,
};

inline constexpr JobState kAllJobStates[] = {
    JobState::kPending,   JobState::kStarting,  JobState::kRunning, JobState::kResizing,
    JobState::kStopping,  JobState::kSuspended, JobState::kCompleted, JobState::kFailed,
    JobState::kCancelled, JobState::kTimedOut,  JobState::kRejected};

bool IsEnd(JobState state);
bool HoldsResources(JobState state);
bool TransitionAllowed(JobState from, JobState to);
std::string_view Name(JobState state);  // "PENDING"

}  // namespace sinew
