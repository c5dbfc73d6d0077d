// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_state.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace sinew {
namespace {

using enum JobState;

TEST(JobState, EveryPairOfTheTableIsAsTheDocumentsSay) {
  const std::set<std::pair<JobState, JobState>> allowed = {
      {kPending, kStarting},   {kPending, kRunning},    {kPending, kCancelled},  {kPending, kRejected},
      {kStarting, kRunning},   {kStarting, kStopping},  {kStarting, kPending},   {kStarting, kCompleted},
      {kStarting, kFailed},    {kStarting, kCancelled}, {kStarting, kTimedOut},  {kRunning, kResizing},
      {kRunning, kStopping},   {kRunning, kPending},    {kRunning, kCompleted},  {kRunning, kFailed},
      {kRunning, kCancelled},  {kRunning, kTimedOut},   {kResizing, kRunning},   {kResizing, kStopping},
      {kResizing, kPending},   {kResizing, kCompleted}, {kResizing, kFailed},    {kResizing, kCancelled},
      {kResizing, kTimedOut},  {kStopping, kPending},   {kStopping, kSuspended}, {kStopping, kCompleted},
      {kStopping, kFailed},    {kStopping, kCancelled}, {kStopping, kTimedOut},  {kSuspended, kPending},
      {kSuspended, kStarting}, {kSuspended, kRunning},  {kSuspended, kCancelled}};
  for (const JobState from : kAllJobStates) {
    for (const JobState to : kAllJobStates) {
      EXPECT_EQ(TransitionAllowed(from, to), allowed.contains({from, to})) << Name(from) << " to " << Name(to);
    }
  }
}

TEST(JobState, NothingFollowsAnEndAndEveryOtherStateReachesOne) {
  for (const JobState from : kAllJobStates) {
    bool leaves = false;
    for (const JobState to : kAllJobStates) leaves |= TransitionAllowed(from, to);
    EXPECT_EQ(leaves, !IsEnd(from)) << Name(from);
    EXPECT_FALSE(IsEnd(from) && HoldsResources(from)) << Name(from);
  }
}

TEST(JobState, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const JobState s : kAllJobStates) names.insert(Name(s));
  EXPECT_EQ(names.size(), std::size(kAllJobStates));
}

}  // namespace
}  // namespace sinew
