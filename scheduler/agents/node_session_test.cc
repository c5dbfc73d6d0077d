// SPDX-License-Identifier: Apache-2.0
#include "scheduler/agents/node_session.h"

#include <gtest/gtest.h>

#include "scheduler/agents/task_body.h"

namespace sinew {
namespace {

v1::AgentMessage RegisterMessage() {
  v1::AgentMessage message;
  v1::Register* r = message.mutable_register_();
  r->set_node("n1");
  r->set_protocol(1);
  r->set_session_id("s");
  r->mutable_info()->set_milli_cpus(1000);
  return message;
}

v1::DesiredTask Desired(uint64_t job, v1::TaskPhase phase) {
  v1::DesiredTask task;
  *task.mutable_key() = ToWire({{job}, 1, 0});
  task.set_digest(BodyDigest({{job}, 1, 0}));
  task.set_phase(phase);
  return task;
}

v1::TaskBody Body(const TaskKey& key) {
  v1::TaskBody body;
  *body.mutable_key() = ToWire(key);
  return body;
}

TEST(NodeSession, HearsNothingBeforeItsRegistrationIsDurable) {
  NodeSession session;
  auto out = session.OnMessage(RegisterMessage(), 1);
  ASSERT_TRUE(out.registration);
  EXPECT_TRUE(out.send.empty());
  EXPECT_TRUE(session.OnDesired({Desired(1, v1::GO)}, Body).send.empty());
  out = session.OnRegistered({4}, "c");
  EXPECT_TRUE(out.send.at(0).has_welcome());
  out = session.OnDesired({Desired(1, v1::GO)}, Body);
  EXPECT_TRUE(out.send.at(0).desired().full());
  EXPECT_EQ(out.send.at(0).desired().bodies_size(), 1);
}

TEST(NodeSession, SendsDifferencesWithTheirBaseAndBodiesOnce) {
  NodeSession session;
  session.OnMessage(RegisterMessage(), 1);
  session.OnRegistered({0}, "c");
  session.OnDesired({Desired(1, v1::PREPARE), Desired(2, v1::GO)}, Body);
  EXPECT_TRUE(session.OnDesired({Desired(1, v1::PREPARE), Desired(2, v1::GO)}, Body).send.empty());
  auto out = session.OnDesired({Desired(1, v1::GO), Desired(3, v1::GO)}, Body);
  const v1::DesiredState& state = out.send.at(0).desired();
  EXPECT_FALSE(state.full());
  EXPECT_EQ(state.base(), 1u);
  EXPECT_EQ(state.revision(), 2u);
  EXPECT_EQ(state.tasks_size(), 2);
  EXPECT_EQ(state.bodies_size(), 1);
  EXPECT_EQ(state.forget_size(), 1);
  EXPECT_EQ(state.forget(0).job(), 2u);
}

TEST(NodeSession, BodiesThatTheAgentHoldsAreNotSentAgain) {
  NodeSession session;
  v1::AgentMessage message = RegisterMessage();
  v1::HeldTask* held = message.mutable_register_()->add_held();
  *held->mutable_key() = ToWire({{1}, 1, 0});
  held->set_digest(BodyDigest({{1}, 1, 0}));
  held->set_state("running");
  auto out = session.OnMessage(message, 1);
  EXPECT_EQ(out.registration->held.at(0).state, HeldTask::State::kRunning);
  session.OnRegistered({0}, "c");
  out = session.OnDesired({Desired(1, v1::GO), Desired(2, v1::GO)}, Body);
  EXPECT_EQ(out.send.at(0).desired().bodies_size(), 1);
  EXPECT_EQ(out.send.at(0).desired().bodies(0).key().job(), 2u);
}

TEST(NodeSession, AcknowledgesWhatIsDurableAndOnlyOnce) {
  NodeSession session;
  session.OnMessage(RegisterMessage(), 1);
  session.OnRegistered({0}, "c");
  v1::AgentMessage report;
  report.mutable_report()->set_sequence(7);
  report.mutable_report()->mutable_started();
  auto out = session.OnMessage(report, 2);
  ASSERT_EQ(out.reports.size(), 1u);
  EXPECT_TRUE(out.send.empty());
  EXPECT_EQ(session.OnCommitted(7).send.at(0).ack().sequence(), 7u);
  EXPECT_TRUE(session.OnCommitted(7).send.empty());
  EXPECT_TRUE(session.OnCommitted(3).send.empty());
}

TEST(NodeSession, RefusesAWrongFirstMessageProtocolAndNames) {
  v1::AgentMessage heartbeat;
  heartbeat.mutable_heartbeat();
  EXPECT_TRUE(NodeSession().OnMessage(heartbeat, 1).close);
  v1::AgentMessage message = RegisterMessage();
  message.mutable_register_()->set_protocol(2);
  EXPECT_TRUE(NodeSession().OnMessage(message, 1).close);
  message = RegisterMessage();
  message.mutable_register_()->set_node("../x");
  EXPECT_TRUE(NodeSession().OnMessage(message, 1).close);
  message = RegisterMessage();
  message.mutable_register_()->mutable_info()->set_milli_cpus(-1);
  EXPECT_TRUE(NodeSession().OnMessage(message, 1).close);
  NodeSession twice;
  twice.OnMessage(RegisterMessage(), 1);
  EXPECT_TRUE(twice.OnMessage(RegisterMessage(), 1).close);
}

TEST(TaskBody, CarriesTheRanksPlaceAmongItsPeers) {
  Job job;
  job.id = {9};
  job.run = 2;
  v1::JobSpec spec;
  spec.set_workdir("/w");
  spec.mutable_train()->mutable_checkpoint()->set_dir("ckpt");
  job.spec.body = spec.SerializeAsString();
  for (int rank = 0; rank < 3; ++rank) {
    Task task;
    task.rank = rank;
    task.node = {rank < 2 ? 5u : 3u};
    job.tasks.push_back(task);
  }
  v1::TaskBody body = MakeTaskBody(job, 1);
  EXPECT_EQ(body.world_size(), 3);
  EXPECT_EQ(body.local_rank(), 1);
  EXPECT_EQ(body.local_world_size(), 2);
  EXPECT_EQ(body.group_rank(), 0);
  EXPECT_EQ(body.num_nodes(), 2);
  EXPECT_EQ(body.checkpoint_dir(), "/w/ckpt/9/run-2");
  EXPECT_EQ(body.resume_from(), "/w/ckpt/9");
  EXPECT_EQ(MakeTaskBody(job, 2).group_rank(), 1);
}

}  // namespace
}  // namespace sinew
