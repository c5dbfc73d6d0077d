// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_state.h"

#include <gtest/gtest.h>

#include <random>

namespace sinew {
namespace {

NodePtr MakeNode(uint32_t id, int devices) {
  auto node = std::make_shared<Node>();
  node->id = {id};
  node->name = "n" + std::to_string(id + 1);
  node->state = NodeState::kUp;
  node->cpus = {8000};
  node->memory = {16LL << 30};
  for (int i = 0; i < devices; ++i) node->devices.push_back({.index = i, .type = "v100"});
  return node;
}

std::shared_ptr<Job> MakeJob(uint64_t id, JobState state) {
  auto job = std::make_shared<Job>();
  job->id = {id};
  job->state = state;
  job->submitter.uid = 7;
  job->run = 1;
  return job;
}

Task MakeTask(int rank, uint32_t node, std::vector<int32_t> devices) {
  Task task;
  task.rank = rank;
  task.node = {node};
  task.devices = std::move(devices);
  task.cpus = {1000};
  task.memory = {1 << 20};
  return task;
}

TEST(ClusterState, HoldsWhatRunningTasksHoldAndFreesItRankByRank) {
  ClusterState state;
  state.PutNode(MakeNode(0, 4));
  auto job = MakeJob(1, JobState::kRunning);
  job->tasks = {MakeTask(0, 0, {0, 1}), MakeTask(1, 0, {2})};
  state.PutJob(job);
  EXPECT_EQ(state.usage({0}).free_devices, 1);
  EXPECT_EQ(state.usage({0}).cpus.value, 2000);
  EXPECT_EQ(state.usage({0}).device_holder[2], JobId{1});
  auto later = std::make_shared<Job>(*job);
  later->tasks[0].state = TaskState::kExited;
  state.PutJob(later);
  EXPECT_EQ(state.usage({0}).free_devices, 3);
  auto ended = std::make_shared<Job>(*later);
  ended->state = JobState::kCompleted;
  state.PutJob(ended);
  EXPECT_EQ(state.usage({0}).free_devices, 4);
  EXPECT_EQ(state.usage({0}).cpus.value, 0);
  EXPECT_TRUE(state.LiveJobsOf(7).empty());
  EXPECT_TRUE(state.CheckInvariants().ok());
}

TEST(ClusterState, FindsADeviceHeldTwice) {
  ClusterState state;
  state.PutNode(MakeNode(0, 2));
  for (uint64_t id : {1, 2}) {
    auto job = MakeJob(id, JobState::kRunning);
    job->tasks = {MakeTask(0, 0, {1})};
    state.PutJob(job);
  }
  EXPECT_FALSE(state.CheckInvariants().ok());
}

TEST(ClusterState, ForgetsTheOldestEndedJobsOnly) {
  ClusterState state;
  for (uint64_t id = 1; id <= 5; ++id) state.PutJob(MakeJob(id, id == 1 ? JobState::kPending : JobState::kFailed));
  state.ForgetEnded(2);
  EXPECT_TRUE(state.FindJob({1}));
  EXPECT_FALSE(state.FindJob({2}));
  EXPECT_TRUE(state.FindJob({5}));
  EXPECT_EQ(state.jobs().size(), 3u);
}

TEST(ClusterState, KeepsWhatIsHeldWhenANodeRegistersWithOtherDevices) {
  ClusterState state;
  state.PutNode(MakeNode(0, 4));
  auto job = MakeJob(1, JobState::kRunning);
  job->tasks = {MakeTask(0, 0, {1, 3})};
  state.PutJob(job);
  state.PutNode(MakeNode(0, 2));
  EXPECT_EQ(state.usage({0}).free_devices, 1);
  EXPECT_TRUE(state.CheckInvariants().ok());
  auto ended = std::make_shared<Job>(*job);
  ended->state = JobState::kFailed;
  state.PutJob(ended);
  EXPECT_EQ(state.usage({0}).free_devices, 2);
  EXPECT_TRUE(state.CheckInvariants().ok());
}

TEST(ClusterState, IndicesEqualARecomputationAfterRandomWrites) {
  std::mt19937 rng(11);
  ClusterState state;
  for (uint32_t n = 0; n < 4; ++n) state.PutNode(MakeNode(n, 4));
  for (int step = 0; step < 2000; ++step) {
    const uint64_t id = 1 + rng() % 12;
    const JobPtr old = state.FindJob({id});
    auto job = old ? std::make_shared<Job>(*old) : MakeJob(id, JobState::kPending);
    if (!HoldsResources(job->state)) {
      job->tasks.clear();
      job->state = JobState::kPending;
      const uint32_t n = rng() % 4;
      std::vector<int32_t> free;
      for (int d = 0; d < 4; ++d) {
        if (state.usage({n}).device_holder[d].value == 0) free.push_back(d);
      }
      if (!free.empty() && rng() % 2 == 0) {
        job->state = JobState::kRunning;
        ++job->run;
        job->tasks = {MakeTask(0, n, {free[rng() % free.size()]})};
      }
    } else {
      job->state = rng() % 2 ? JobState::kStopping : JobState::kFailed;
    }
    state.PutJob(job);
    const absl::Status status = state.CheckInvariants();
    ASSERT_TRUE(status.ok()) << step << ": " << status;
  }
}

}  // namespace
}  // namespace sinew
