// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/engine.h"

#include <gtest/gtest.h>

#include "scheduler/engine/testing.h"

namespace sinew {
namespace {

using testing::Bench;
using testing::kSecond;
using testing::Register;
using testing::Spec;

TEST(Gang, GoesOnlyWhenEveryRankIsReady) {
  Bench b;
  b.Do({Register("n1", 2), Register("n2", 2)});
  const JobId id = b.Submit(Spec(4, 1));
  b.PlanAll();
  ASSERT_EQ(b.Job(id)->state, JobState::kStarting);
  for (int rank = 0; rank < 3; ++rank) {
    b.Ready(id, rank);
    EXPECT_EQ(b.Job(id)->state, JobState::kStarting);
    for (const auto& task : b.engine->Desired({0})) EXPECT_EQ(task.phase, DesiredTask::Phase::kPrepare);
  }
  b.Ready(id, 3);
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
  for (const auto& task : b.engine->Desired({1})) EXPECT_EQ(task.phase, DesiredTask::Phase::kGo);
  EXPECT_EQ(b.Job(id)->tasks[2].values.at("r2"), "v");
  for (int rank = 0; rank < 4; ++rank) b.Started(id, rank);
  EXPECT_TRUE(b.Job(id)->tasks[2].values.empty());
}

TEST(Gang, HoldsNothingUntilEveryRankFits) {
  Bench b;
  b.Do({Register("n1", 2)});
  const JobId first = b.Submit(Spec(1, 1));
  const JobId second = b.Submit(Spec(2, 1));
  b.PlanAll();
  EXPECT_EQ(b.Job(first)->state, JobState::kRunning);
  EXPECT_EQ(b.Job(second)->state, JobState::kPending);
  EXPECT_EQ(b.Job(second)->reasons[0].code, ReasonCode::kInsufficientDevices);
  EXPECT_EQ(b.Job(second)->reasons[0].needed, 2);
  EXPECT_EQ(b.Job(second)->reasons[0].total_free, 1);
  EXPECT_EQ(b.engine->state().usage({0}).free_devices, 1);
  b.Started(first, 0);
  b.Exited(first, 0);
  b.PlanAll();
  EXPECT_EQ(b.Job(second)->state, JobState::kStarting);
}

TEST(Gang, IsReleasedEverywhereWhenOneRankIsNotReadyInTime) {
  Bench b;
  b.Do({Register("n1", 1), Register("n2", 1)});
  const JobId id = b.Submit(Spec(2, 1));
  b.PlanAll();
  b.Ready(id, 0);
  b.Pass(61 * kSecond);
  b.Do({});
  EXPECT_EQ(b.Job(id)->state, JobState::kStopping);
  EXPECT_EQ(b.Job(id)->reasons[0].code, ReasonCode::kStartTimedOut);
  EXPECT_EQ(b.Job(id)->reasons[0].node, "n2");
  for (int rank : {0, 1}) {
    TaskExitedEvent gone;
    gone.node = b.NodeOf(id, rank);
    gone.key = b.Key(id, rank);
    gone.never_started = true;
    b.Do({gone});
  }
  EXPECT_EQ(b.Job(id)->state, JobState::kPending);
  EXPECT_EQ(b.engine->state().usage({0}).free_devices, 1);
  b.PlanAll();
  EXPECT_EQ(b.Job(id)->run, 2u);
}

TEST(Failure, NamesTheRankThatFailedFirstAndStopsTheOthers) {
  Bench b;
  b.Do({Register("n1", 0)});
  const JobId id = b.Submit(Spec(3));
  b.PlanAll();
  for (int r = 0; r < 3; ++r) b.Ready(id, r);
  for (int r = 0; r < 3; ++r) b.Started(id, r);
  b.Exited(id, 1, 3);
  EXPECT_EQ(b.Job(id)->state, JobState::kStopping);
  b.Exited(id, 0, 0, 15);
  b.Exited(id, 2, 143);
  EXPECT_EQ(b.Job(id)->state, JobState::kFailed);
  const Reason& reason = b.Job(id)->reasons[0];
  EXPECT_EQ(reason.code, ReasonCode::kTaskExited);
  EXPECT_EQ(reason.rank, 1);
  EXPECT_EQ(reason.exit_code, 3);
  EXPECT_EQ(b.Job(id)->exit_code, 3);
  EXPECT_EQ(b.Job(id)->log_tail.at(0), "tail of 1");
}

TEST(Failure, BlamesTheKilledRankEvenWhenItsPeersWereHeardFirst) {
  Bench b;
  b.Do({Register("n1", 0)});
  JobSpec spec = Spec(2);
  spec.retry_max = 1;
  spec.retry_on_signal = true;
  const JobId id = b.Submit(spec);
  b.PlanAll();
  for (int r = 0; r < 2; ++r) b.Ready(id, r);
  for (int r = 0; r < 2; ++r) b.Started(id, r);
  b.Exited(id, 0, 75);
  b.Exited(id, 1, 0, 9);
  EXPECT_EQ(b.Job(id)->state, JobState::kPending);
  EXPECT_EQ(b.Job(id)->reasons[0].code, ReasonCode::kRetrying);
  EXPECT_EQ(b.Job(id)->reasons[0].rank, 1);
  EXPECT_EQ(b.Job(id)->reasons[0].signal, 9);
  b.PlanAll();
  EXPECT_EQ(b.Job(id)->run, 1u) << "waits before the next try";
  b.Pass(2 * kSecond);
  b.Do({});
  b.PlanAll();
  EXPECT_EQ(b.Job(id)->run, 2u);
}

TEST(Queue, ALargeHeadIsNotOvertakenInItsPool) {
  Bench b;
  b.Do({Register("n1", 2)});
  const JobId running = b.Submit(Spec(1, 1));
  const JobId large = b.Submit(Spec(1, 2));
  const JobId small = b.Submit(Spec(1, 1));
  b.PlanAll();
  EXPECT_EQ(b.Job(running)->state, JobState::kRunning);
  EXPECT_EQ(b.Job(large)->state, JobState::kPending);
  EXPECT_EQ(b.Job(small)->state, JobState::kPending);
  EXPECT_EQ(b.engine->QueuePosition(large), 1);
  EXPECT_EQ(b.engine->QueuePosition(small), 2);
}

TEST(Demand, ImpossibleIsRefusedAndNodesThatAreAwayCount) {
  Bench b;
  const JobId early = b.Submit(Spec(1, 5));
  EXPECT_TRUE(b.last_answer.status.ok());
  b.PlanAll();
  EXPECT_EQ(b.Job(early)->reasons[0].code, ReasonCode::kNoNodes);
  NodeRegisteredEvent configured = Register("n1", 4);
  configured.from_configuration = true;
  b.Do({configured});
  b.Submit(Spec(1, 5));
  EXPECT_EQ(b.last_answer.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(b.last_answer.reason.code, ReasonCode::kNeverSatisfiable);
  EXPECT_EQ(b.last_answer.reason.needed, 5);
  const JobId waits = b.Submit(Spec(1, 4));
  EXPECT_TRUE(b.last_answer.status.ok());
  b.PlanAll();
  EXPECT_EQ(b.Job(waits)->reasons[0].code, ReasonCode::kNodesUnavailable);
  b.Do({Register("n1", 4)});
  b.PlanAll();
  EXPECT_EQ(b.Job(waits)->state, JobState::kRunning);
}

TEST(Requests, TheSameIdGivesTheFirstAnswerForEachUser) {
  Bench b;
  const JobId first = b.Submit(Spec(1), 1000, "a");
  EXPECT_EQ(b.Submit(Spec(1), 1000, "a"), first);
  EXPECT_NE(b.Submit(Spec(1), 1001, "a"), first);
  SubmitEvent twice;
  twice.token = 77;
  twice.request_id = "b";
  twice.submitter.uid = 1;
  twice.spec = Spec(1);
  const Transaction t = b.Do({twice, twice});
  EXPECT_EQ(t.answers.at(0).job, t.answers.at(1).job);
  EXPECT_EQ(t.jobs.size(), 1u);
}

TEST(Requests, AnAbandonedSubmitLeavesNothing) {
  Bench b;
  SubmitEvent event;
  event.token = 1;
  event.request_id = "a";
  event.spec = Spec(1);
  const std::vector<Event> events = {event};
  const Transaction first = b.engine->Apply(events, b.now);
  b.engine->Abandon(first);
  EXPECT_TRUE(b.engine->state().jobs().empty());
  EXPECT_EQ(b.Submit(Spec(1)), JobId{1});
}

TEST(Cancel, HidesOthersJobsAndRefusesEndedOnes) {
  Bench b;
  const JobId id = b.Submit(Spec(1));
  b.Cancel(id, 2000);
  EXPECT_EQ(b.last_answer.status.code(), absl::StatusCode::kNotFound);
  b.Cancel(id);
  EXPECT_EQ(b.Job(id)->state, JobState::kCancelled);
  b.Cancel(id);
  EXPECT_EQ(b.last_answer.status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST(TimeLimit, CountsMonotonicTimeAndStops) {
  Bench b;
  b.Do({Register("n1", 0)});
  JobSpec spec = Spec(1);
  spec.time_limit = {10 * kSecond};
  const JobId id = b.Submit(spec);
  b.PlanAll();
  b.Started(id, 0);
  b.now.wall_ns += 3600 * kSecond;  // a stepped clock moves no timer
  b.Do({});
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
  b.now.mono_ns += 11 * kSecond;
  b.Do({});
  EXPECT_EQ(b.Job(id)->state, JobState::kStopping);
  b.Exited(id, 0, 0, 15);
  EXPECT_EQ(b.Job(id)->state, JobState::kTimedOut);
}

TEST(Reports, OfAnOldRunOrAnotherNodeChangeNothing) {
  Bench b;
  b.Do({Register("n1", 0), Register("n2", 0)});
  const JobId id = b.Submit(Spec(1));
  b.PlanAll();
  TaskExitedEvent stray;
  stray.node = b.NodeOf(id, 0);
  stray.key = {id, 0, 0};
  EXPECT_FALSE(b.Do({stray}).NeedsCommit());
  stray.key = b.Key(id, 0);
  stray.node = {1 - b.NodeOf(id, 0).value};
  EXPECT_FALSE(b.Do({stray}).NeedsCommit());
  stray.node = {4711};
  EXPECT_FALSE(b.Do({stray}).NeedsCommit());
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
}

TEST(Nodes, ARebootLosesItsTasksAndARestartedAgentKeepsThem) {
  Bench b;
  b.Do({Register("n1", 0)});
  const JobId id = b.Submit(Spec(1));
  b.PlanAll();
  b.Started(id, 0);
  NodeRegisteredEvent again = Register("n1", 0);
  again.held = {{b.Key(id, 0), HeldTask::State::kRunning, 5 * kSecond}};
  b.Do({again});
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
  b.Do({Register("n1", 0, 8000, "boot-2")});
  EXPECT_EQ(b.Job(id)->state, JobState::kFailed);
  EXPECT_EQ(b.Job(id)->reasons[0].code, ReasonCode::kNodeLost);
}

TEST(Nodes, ASilentNodeKeepsWhatItHolds) {
  Bench b;
  b.Do({Register("n1", 1)});
  const JobId id = b.Submit(Spec(1, 1));
  b.PlanAll();
  b.Started(id, 0);
  b.Do({NodeStateEvent{{0}, NodeState::kLost}});
  EXPECT_EQ(b.Job(id)->state, JobState::kRunning);
  EXPECT_EQ(b.engine->state().usage({0}).free_devices, 0);
}

TEST(Restore, GoesOnWhereItWas) {
  Bench b;
  b.Do({Register("n1", 0)});
  const JobId running = b.Submit(Spec(1), 1, "key");
  b.PlanAll();
  b.Started(running, 0);
  Bench c;
  RestoredState kept;
  for (const auto& [id, job] : b.engine->state().jobs()) kept.jobs.push_back(job);
  kept.nodes = b.engine->state().nodes();
  kept.requests = {{1, "key", running, b.now.wall_ns}};
  kept.last_revision = 12;
  c.engine->Restore(kept, c.now);
  EXPECT_EQ(c.engine->state().nodes()[0]->state, NodeState::kSuspect);
  EXPECT_EQ(c.Submit(Spec(1), 1, "key"), running);
  const JobId next = c.Submit(Spec(1));
  EXPECT_EQ(next.value, running.value + 1);
  c.PlanAll();
  EXPECT_EQ(c.Job(next)->state, JobState::kPending) << "nothing new on a node that was not heard yet";
  NodeRegisteredEvent again = Register("n1", 0);
  again.held = {{c.Key(running, 0), HeldTask::State::kRunning, kSecond}};
  c.Do({again});
  c.PlanAll();
  EXPECT_EQ(c.Job(running)->state, JobState::kRunning);
  EXPECT_EQ(c.Job(next)->state, JobState::kRunning);
  EXPECT_TRUE(c.Invariants().ok()) << c.Invariants();
}

TEST(Energy, IsModelledFromDevicesAndCpus) {
  Bench b;
  b.Do({Register("n1", 1)});
  const JobId id = b.Submit(Spec(1, 1));
  b.PlanAll();
  b.Started(id, 0);
  b.Pass(10 * kSecond);
  b.Exited(id, 0);
  EXPECT_EQ(b.Job(id)->energy.value, 10 * (250'000 + 100'000 / 8));
}

}  // namespace
}  // namespace sinew
