// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_state.h"

namespace sinew {
namespace {

constexpr uint32_t Bit(JobState state) { return 1u << static_cast<uint32_t>(state); }

template <typename... States>
constexpr uint32_t Set(States... states) {
  return (Bit(states) | ...);
}

using enum JobState;

constexpr uint32_t AllowedFrom(JobState from) {
  switch (from) {
    case kPending: return Set(kStarting, kRunning, kCancelled, kRejected);
    case kStarting: return Set(kRunning, kStopping, kPending, kCompleted, kFailed, kCancelled, kTimedOut);
    case kRunning: return Set(kResizing, kStopping, kPending, kCompleted, kFailed, kCancelled, kTimedOut);
    case kResizing: return Set(kRunning, kStopping, kPending, kCompleted, kFailed, kCancelled, kTimedOut);
    case kStopping: return Set(kPending, kSuspended, kCompleted, kFailed, kCancelled, kTimedOut);
    case kSuspended: return Set(kPending, kStarting, kRunning, kCancelled);
    case kCompleted:
    case kFailed:
    case kCancelled:
    case kTimedOut:
    case kRejected: return 0;
  }
  return 0;
}

}  // namespace

bool IsEnd(JobState state) { return state >= kCompleted; }

bool HoldsResources(JobState state) {
  return (Set(kStarting, kRunning, kResizing, kStopping) & Bit(state)) != 0;
}

bool TransitionAllowed(JobState from, JobState to) { return (AllowedFrom(from) & Bit(to)) != 0; }

std::string_view Name(JobState state) {
  switch (state) {
    case kPending: return "PENDING";
    case kStarting: return "STARTING";
    case kRunning: return "RUNNING";
    case kResizing: return "RESIZING";
    case kStopping: return "STOPPING";
    case kSuspended: return "SUSPENDED";
    case kCompleted: return "COMPLETED";
    case kFailed: return "FAILED";
    case kCancelled: return "CANCELLED";
    case kTimedOut: return "TIMED_OUT";
    case kRejected: return "REJECTED";
  }
  return "UNKNOWN";
}

}  // namespace sinew
