// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scheduler/engine/testing.h"

namespace sinew {
namespace {

using namespace testing;  // NOLINT: the small clusters
using JobVerb = JobControlEvent::Verb;
using NodeVerb = NodeControlEvent::Verb;

constexpr uint32_t kOwner = 1000, kStranger = 2000, kOperator = 0;

absl::Status Control(Bench& b, JobId job, JobVerb verb, uint32_t uid = kOwner, bool hold = false,
                     const std::string& request_id = "") {
  JobControlEvent event;
  event.token = 1;
  event.request_id = request_id;
  event.caller_uid = uid;
  event.caller_is_operator = uid == kOperator;
  event.caller = uid == kOperator ? "root" : "ann";
  event.job = job;
  event.verb = verb;
  event.hold = hold;
  return b.Do({event}).answers.at(0).status;
}

absl::Status Control(Bench& b, const std::string& node, NodeVerb verb, std::optional<int64_t> deadline = {},
                     bool force = false) {
  NodeControlEvent event;
  event.token = 1;
  event.caller = "root";
  event.node = node;
  event.verb = verb;
  event.reason = verb == NodeVerb::kResume ? "" : "new kernel";
  event.deadline_ns = deadline;
  event.force = force;
  return b.Do({event}).answers.at(0).status;
}

// What the daemon does when the engine says that something is due.
void Tick(Bench& b, int64_t ns) {
  b.Pass(ns);
  b.Do({});
  b.PlanAll();
}

JobId Running(Bench& b, bool may_move = false, int64_t cpus = 1000) {
  JobSpec spec = Spec(1);
  spec.demand.cpus = {cpus};
  spec.retry_on_node_fail = may_move;
  const JobId id = b.Submit(spec);
  b.PlanAll();
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
  b.Started(id, 0);
  return id;
}

NodePtr NodeNamed(Bench& b, const std::string& name) { return b.engine->state().FindNode(name); }

TEST(Hold, KeepsAJobFromStartingAndLetsOthersPass) {
  Bench b;
  const JobId held = b.Submit(Spec(1)), other = b.Submit(Spec(1));
  EXPECT_TRUE(Control(b, held, JobVerb::kHold).ok());
  EXPECT_TRUE(Control(b, held, JobVerb::kHold).ok()) << "twice is once";
  b.Do({Register("n1", 0)});
  b.PlanAll();
  EXPECT_EQ(b.Job(held)->state, JobState::kPending);
  EXPECT_EQ(b.Job(held)->reasons.at(0).code, ReasonCode::kHeld);
  EXPECT_EQ(b.Job(held)->reasons.at(0).detail, "ann");
  EXPECT_EQ(b.engine->QueuePosition(held), 0);
  EXPECT_EQ(b.Job(other)->state, JobState::kRunning);
  Tick(b, 3600 * kSecond);
  EXPECT_EQ(b.Job(held)->reasons.at(0).code, ReasonCode::kHeld) << "no timer takes it away";
  EXPECT_TRUE(Control(b, held, JobVerb::kRelease).ok());
  EXPECT_TRUE(Control(b, held, JobVerb::kRelease).ok());
  b.PlanAll();
  EXPECT_EQ(b.Job(held)->state, JobState::kRunning);
}

TEST(Hold, IsForWaitingJobsAndByThoseWhoMay) {
  Bench b;
  b.Do({Register("n1", 0, 1000)});
  const JobId running = Running(b), waiting = b.Submit(Spec(1));
  EXPECT_EQ(Control(b, running, JobVerb::kHold).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Control(b, waiting, JobVerb::kHold, kStranger).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Control(b, JobId{99}, JobVerb::kHold).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Control(b, waiting, JobVerb::kHold, kOperator).ok());
  EXPECT_EQ(Control(b, waiting, JobVerb::kRelease).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(Control(b, waiting, JobVerb::kHold).ok());
  EXPECT_EQ(Control(b, waiting, JobVerb::kRelease).code(), absl::StatusCode::kPermissionDenied) << "still the operator's";
  EXPECT_TRUE(Control(b, waiting, JobVerb::kRelease, kOperator).ok());
  b.Cancel(waiting);
  EXPECT_EQ(Control(b, waiting, JobVerb::kHold).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Requeue, StopsTheRunAndStartsTheNext) {
  Bench b;
  b.Do({Register("n1", 0)});
  const JobId id = Running(b);
  EXPECT_TRUE(Control(b, id, JobVerb::kRequeue, kOwner, false, "r1").ok());
  EXPECT_EQ(b.Job(id)->state, JobState::kStopping);
  EXPECT_TRUE(Control(b, id, JobVerb::kRequeue).ok()) << "it is on its way";
  b.Exited(id, 0, 0, 15);
  EXPECT_EQ(b.Job(id)->state, JobState::kPending);
  EXPECT_EQ(b.Job(id)->failures, 0);
  b.PlanAll();
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
  EXPECT_EQ(b.Job(id)->run, 2u);
  EXPECT_TRUE(Control(b, id, JobVerb::kRequeue, kOwner, false, "r1").ok());
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning) << "the same request again stops no second run";
}

TEST(Requeue, WithHoldWaitsToBeReleased) {
  Bench b;
  b.Do({Register("n1", 0)});
  const JobId id = Running(b);
  EXPECT_TRUE(Control(b, id, JobVerb::kRequeue, kOwner, true).ok());
  b.Exited(id, 0, 0, 15);
  b.PlanAll();
  EXPECT_EQ(b.Job(id)->state, JobState::kPending);
  EXPECT_EQ(b.Job(id)->reasons.at(0).code, ReasonCode::kHeld);
  EXPECT_TRUE(Control(b, id, JobVerb::kRelease).ok());
  b.PlanAll();
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
}

TEST(Requeue, OfAJobThatIsBeingCancelledIsRefused) {
  Bench b;
  b.Do({Register("n1", 0)});
  const JobId id = Running(b);
  b.Cancel(id);
  EXPECT_EQ(Control(b, id, JobVerb::kRequeue).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Cordon, PlacesNothingNewUntilResumed) {
  Bench b;
  b.Do({Register("n1", 0)});
  const JobId running = Running(b);
  EXPECT_TRUE(Control(b, "n1", NodeVerb::kCordon).ok());
  const JobId id = b.Submit(Spec(1));
  b.PlanAll();
  EXPECT_EQ(b.Job(id)->state, JobState::kPending);
  EXPECT_EQ(b.Job(id)->reasons.at(0).code, ReasonCode::kNodesUnavailable);
  EXPECT_EQ(b.Job(running)->state, JobState::kRunning);
  b.Do({Register("n1", 0)});
  EXPECT_TRUE(NodeNamed(b, "n1")->cordon.on) << "an agent that starts anew takes no work either";
  EXPECT_TRUE(Control(b, "n1", NodeVerb::kResume).ok());
  b.PlanAll();
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
  EXPECT_EQ(Control(b, "n9", NodeVerb::kCordon).code(), absl::StatusCode::kNotFound);
}

TEST(Drain, WithoutADeadlineWaits) {
  Bench b;
  b.Do({Register("n1", 0)});
  const JobId id = Running(b);
  EXPECT_TRUE(Control(b, "n1", NodeVerb::kDrain).ok());
  Tick(b, 3600 * kSecond);
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
  EXPECT_FALSE(b.engine->NextTimer().has_value());
}

TEST(Drain, AtTheDeadlineMovesWhatMayMove) {
  Bench b;
  b.Do({Register("n1", 0)});
  const JobId id = Running(b, true);
  EXPECT_TRUE(Control(b, "n1", NodeVerb::kDrain, 10 * kSecond).ok());
  b.Do({Register("n2", 0)});
  EXPECT_EQ(b.engine->NextTimer(), b.now.mono_ns + 10 * kSecond);
  Tick(b, 9 * kSecond);
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
  Tick(b, kSecond);
  EXPECT_EQ(b.Job(id)->state, JobState::kStopping);
  b.Exited(id, 0, 0, 15);
  b.PlanAll();
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
  EXPECT_EQ(NodeNamed(b, "n2")->id, b.NodeOf(id, 0));
  EXPECT_EQ(b.Job(id)->failures, 0);
  EXPECT_FALSE(b.engine->NextTimer().has_value());
}

TEST(Drain, RefusesWhatItCannotMoveUnlessForced) {
  Bench b;
  b.Do({Register("n1", 0)});
  const JobId stays = Running(b), moves = Running(b, true);
  const absl::Status refused = Control(b, "n1", NodeVerb::kDrain, 0);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("jobs/1 on n1"), std::string::npos) << refused;
  EXPECT_FALSE(NodeNamed(b, "n1")->cordon.on) << "nothing half-done";
  EXPECT_TRUE(Control(b, "n1", NodeVerb::kDrain, 0, true).ok());
  Tick(b, 1);
  b.Exited(stays, 0, 0, 15);
  b.Exited(moves, 0, 0, 15);
  EXPECT_EQ(b.Job(stays)->state, JobState::kFailed);
  EXPECT_EQ(b.Job(stays)->reasons.at(0).code, ReasonCode::kNodeDrained);
  EXPECT_EQ(b.Job(moves)->state, JobState::kPending);
}

TEST(Drain, ADeadlineThatPassedWhileTheDaemonWasAwayIsMet) {
  Bench b;
  b.Do({Register("n1", 0)});
  const JobId id = Running(b, true);
  EXPECT_TRUE(Control(b, "n1", NodeVerb::kDrain, 10 * kSecond).ok());
  Bench after;
  RestoredState kept;
  kept.jobs = {b.Job(id)};
  kept.nodes = {NodeNamed(b, "n1")};
  after.now = b.now;
  after.Pass(60 * kSecond);
  after.engine->Restore(kept, after.now);
  Tick(after, 1);
  EXPECT_EQ(after.Job(id)->state, JobState::kStopping);
}

TEST(Drain, ResumedInTimeStopsNothing) {
  Bench b;
  b.Do({Register("n1", 0)});
  const JobId id = Running(b, true);
  EXPECT_TRUE(Control(b, "n1", NodeVerb::kDrain, 10 * kSecond).ok());
  EXPECT_TRUE(Control(b, "n1", NodeVerb::kResume).ok());
  Tick(b, 20 * kSecond);
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
}

}  // namespace
}  // namespace sinew
