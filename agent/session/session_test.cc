// SPDX-License-Identifier: Apache-2.0
#include "agent/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinew::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const Key kTask{7, 1, 0};

Session::Hooks TestHooks() {
  return {.free_port = [] { return 4000; },
          .token = [] { return std::string("secret"); },
          .check = [](const v1::TaskBody& body) { return std::string(body.user() == "nobody-here" ? "no such user" : ""); },
          .start =
              [](const Note& note, const v1::DesiredTask& desired) {
                v1::StartTask start;
                for (const std::string& word : note.body().argv()) start.add_argv(word);
                start.add_env("MASTER_PORT=" + std::to_string(desired.master_port()));
                return start;
              },
          .log_tail = [](const Note&) { return std::vector<std::string>{"last words"}; }};
}

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() { Restart(); }
  // As a new process of the agent: all that was only in memory is gone.
  void Restart() { session = std::make_unique<Session>("n1", "s", v1::NodeInfo(), TestHooks()); }

  void Welcome() {
    v1::ControllerMessage message;
    message.mutable_welcome()->set_heartbeat_ns(100);
    last = session->OnMessage(message, now);
  }
  void Up() {
    last = session->OnLauncherList(launcher, now, now);
    last = session->OnConnected(now);
    Welcome();
  }
  Session::Out Desire(v1::TaskPhase phase, bool rendezvous = false, const std::string& user = "me", bool body = true) {
    v1::ControllerMessage message;
    v1::DesiredState& state = *message.mutable_desired();
    state.set_full(true);
    state.set_revision(++revision);
    v1::DesiredTask& task = *state.add_tasks();
    *task.mutable_key() = Wire();
    task.set_digest("7.1.0");
    task.set_phase(phase);
    task.set_master_port(4321);
    task.set_stop_grace_ns(5);
    if (phase == v1::GO && rendezvous) (*task.add_peers()->mutable_values())["store"] = "here";
    if (body) *state.add_bodies() = Body(rendezvous, user);
    return session->OnMessage(message, now);
  }
  Session::Out WantNothing() {
    v1::ControllerMessage message;
    message.mutable_desired()->set_full(true);
    message.mutable_desired()->set_revision(++revision);
    return session->OnMessage(message, now);
  }
  static v1::TaskKey Wire() {
    v1::TaskKey key;
    key.set_job(7);
    key.set_run(1);
    return key;
  }
  static v1::TaskBody Body(bool rendezvous, const std::string& user) {
    v1::TaskBody body;
    *body.mutable_key() = Wire();
    body.add_argv("true");
    body.set_rendezvous(rendezvous);
    body.set_user(user);
    return body;
  }
  static v1::TaskState Running() {
    v1::TaskState state;
    state.set_task("7.1.0");
    state.set_running(true);
    state.set_pid(99);
    state.set_started_boot_ns(10);
    return state;
  }
  static v1::TaskState Exited(int code) {
    v1::TaskState state = Running();
    state.set_running(false);
    state.set_exit_code(code);
    state.set_ended_boot_ns(25);
    return state;
  }
  Session::Out Answer(uint64_t id, const v1::TaskState& state, const std::string& error = "") {
    v1::LauncherReply reply;
    reply.set_id(id);
    reply.set_error(error);
    *reply.add_tasks() = state;
    return session->OnLauncherReply(reply, now);
  }
  Session::Out Acknowledge(uint64_t sequence) {
    v1::ControllerMessage message;
    message.mutable_ack()->set_sequence(sequence);
    return session->OnMessage(message, now);
  }
  // "ready", "started", "exited 3", "never", "lost", "refused why" of each report sent.
  static std::vector<std::string> Reports(const Session::Out& out) {
    std::vector<std::string> said;
    for (const v1::AgentMessage& message : out.send) {
      if (!message.has_report()) continue;
      const v1::TaskReport& report = message.report();
      if (report.has_ready()) said.push_back("ready");
      if (report.has_started()) said.push_back("started");
      if (report.has_refused()) said.push_back("refused " + report.refused().why());
      if (!report.has_exited()) continue;
      said.push_back(report.exited().never_started()  ? "never"
                     : report.exited().status_lost() ? "lost"
                                                     : "exited " + std::to_string(report.exited().exit_code()));
    }
    return said;
  }
  static std::vector<std::string> Asked(const Session::Out& out) {
    std::vector<std::string> verbs;
    for (const v1::LauncherRequest& request : out.launch) {
      verbs.push_back(request.has_start()  ? "start"
                      : request.has_stop() ? "stop"
                      : request.has_forget() ? "forget"
                                             : "?");
    }
    return verbs;
  }

  std::unique_ptr<Session> session;
  std::vector<v1::TaskState> launcher;  // what it lists
  Session::Out last;
  int64_t now = 1000;
  uint64_t revision = 0;
};

TEST_F(SessionTest, RegistersOnlyOnceTheLauncherListedItsTasks) {
  EXPECT_THAT(session->OnConnected(now).send, IsEmpty());
  const auto out = session->OnLauncherList({}, now, now);
  ASSERT_EQ(out.send.size(), 1u);
  EXPECT_EQ(out.send[0].register_().node(), "n1");
}

TEST_F(SessionTest, PreparesThenStartsThenReportsTheEnd) {
  Up();
  auto out = Desire(v1::PREPARE);
  EXPECT_THAT(Reports(out), ElementsAre("ready"));
  EXPECT_THAT(Asked(out), IsEmpty());
  EXPECT_EQ(out.send[0].report().ready().free_port(), 4000);
  out = Desire(v1::GO);
  ASSERT_THAT(Asked(out), ElementsAre("start"));
  EXPECT_EQ(out.launch[0].start().env(0), "MASTER_PORT=4321");
  EXPECT_THAT(Asked(Desire(v1::GO)), IsEmpty()) << "desired again is nothing new";
  EXPECT_THAT(Reports(Answer(out.launch[0].id(), Running())), ElementsAre("started"));
  out = Answer(0, Exited(3));
  EXPECT_THAT(Reports(out), ElementsAre("exited 3"));
  EXPECT_EQ(out.send[0].report().exited().log_tail(0), "last words");
  EXPECT_EQ(out.send[0].report().exited().ran_for_ns(), 15);
  EXPECT_THAT(out.ended, ElementsAre(kTask));
  EXPECT_THAT(Reports(Answer(0, Exited(3))), IsEmpty()) << "an end is reported once";
  EXPECT_THAT(Asked(WantNothing()), ElementsAre("forget"));
  EXPECT_EQ(session->held(), 0u);
}

TEST_F(SessionTest, AnEndInTheAnswerToStartReportsBoth) {
  Up();
  Desire(v1::PREPARE);
  const auto out = Desire(v1::GO);
  EXPECT_THAT(Reports(Answer(out.launch[0].id(), Exited(0))), ElementsAre("started", "exited 0"));
}

TEST_F(SessionTest, ReportsRepeatUntilAcknowledgedAndAgainOnANewStream) {
  Up();
  Desire(v1::PREPARE);
  EXPECT_THAT(Reports(session->OnTick(now + kRepeatNs)), ElementsAre("ready"));
  session->OnDisconnected();
  EXPECT_THAT(Reports(session->OnTick(now + 3 * kRepeatNs)), IsEmpty());
  session->OnConnected(now);
  Welcome();
  EXPECT_THAT(Reports(last), ElementsAre("ready"));
  Acknowledge(1);
  EXPECT_THAT(Reports(session->OnTick(now + 5 * kRepeatNs)), IsEmpty());
}

TEST_F(SessionTest, HeartbeatsNameTheRevisionTakenIn) {
  Up();
  Desire(v1::PREPARE);
  const auto out = session->OnTick(now + 100);
  ASSERT_EQ(out.send.size(), 1u);
  EXPECT_EQ(out.send[0].heartbeat().revision(), 1u);
  EXPECT_THAT(session->OnTick(now + 150).send, IsEmpty());
}

TEST_F(SessionTest, StopBeforeTheStartIsAnEndThatNeverStarted) {
  Up();
  Desire(v1::PREPARE);
  EXPECT_THAT(Reports(Desire(v1::STOP)), ElementsAre("never"));
}

TEST_F(SessionTest, StopOfATaskWhoseBodyNeverCame) {
  Up();
  EXPECT_THAT(Reports(Desire(v1::STOP, false, "me", false)), ElementsAre("never"));
}

TEST_F(SessionTest, StopWhileTheStartIsInFlightWaitsForTheAnswer) {
  Up();
  Desire(v1::PREPARE);
  const auto start = Desire(v1::GO);
  EXPECT_THAT(Asked(Desire(v1::STOP)), IsEmpty());
  const auto out = Answer(start.launch[0].id(), Running());
  ASSERT_THAT(Asked(out), ElementsAre("stop"));
  EXPECT_EQ(out.launch[0].stop().grace_ns(), 5);
  EXPECT_THAT(out.stopping, ElementsAre(kTask));
  EXPECT_THAT(Asked(Desire(v1::STOP)), IsEmpty()) << "asked once";
}

TEST_F(SessionTest, WhatCannotRunIsRefused) {
  Up();
  EXPECT_THAT(Reports(Desire(v1::PREPARE, false, "nobody-here")), ElementsAre("refused no such user"));
  Restart();
  Up();
  Desire(v1::PREPARE);
  const auto start = Desire(v1::GO);
  v1::TaskState failed;
  failed.set_task("7.1.0");
  failed.set_start_error("exec /no/such: No such file or directory");
  EXPECT_THAT(Reports(Answer(start.launch[0].id(), failed, failed.start_error())),
              ElementsAre("refused exec /no/such: No such file or directory"));
}

TEST_F(SessionTest, ABodyThatIsMissingIsFetched) {
  Up();
  const auto out = Desire(v1::PREPARE, false, "me", false);
  ASSERT_EQ(out.send.size(), 1u);
  EXPECT_EQ(out.send[0].fetch().keys_size(), 1);
  EXPECT_TRUE(session->OnTick(now + kRepeatNs).send.back().has_fetch()) << "asked again";
  v1::ControllerMessage bodies;
  *bodies.mutable_bodies()->add_bodies() = Body(false, "me");
  EXPECT_THAT(Reports(session->OnMessage(bodies, now)), ElementsAre("ready"));
}

TEST_F(SessionTest, ADifferenceToAnotherRevisionOpensTheStreamAnew) {
  Up();
  Desire(v1::PREPARE);
  v1::ControllerMessage message;
  message.mutable_desired()->set_base(5);
  message.mutable_desired()->set_revision(6);
  EXPECT_TRUE(session->OnMessage(message, now).reconnect);
  message.mutable_desired()->set_base(0);
  message.mutable_desired()->set_revision(1);
  EXPECT_FALSE(session->OnMessage(message, now).reconnect) << "an old one again";
}

TEST_F(SessionTest, RendezvousStartsAtPrepareAndTellsThePeersAtGo) {
  Up();
  auto out = Desire(v1::PREPARE, true);
  ASSERT_THAT(Asked(out), ElementsAre("start"));
  EXPECT_THAT(Reports(Answer(out.launch[0].id(), Running())), IsEmpty());
  EXPECT_TRUE(session->Knows(kTask, "secret"));
  EXPECT_FALSE(session->Knows(kTask, "guess"));
  EXPECT_THAT(Reports(session->OnValues(kTask, {{"store", "here"}})), ElementsAre("ready"));
  out = Desire(v1::GO, true);
  EXPECT_THAT(Reports(out), ElementsAre("started"));
  ASSERT_EQ(out.peers.size(), 1u);
  EXPECT_THAT(out.peers[0].values, ElementsAre(Pair("store", "here")));
  EXPECT_EQ(session->OnValues(kTask, {{"store", "here"}}).peers.size(), 1u) << "told again when asked again";
}

TEST_F(SessionTest, AnAgentStartedAnewTakesOverWhatRuns) {
  Up();
  Desire(v1::PREPARE);
  const auto start = Desire(v1::GO);
  v1::TaskState state = Running();
  state.set_note(start.launch[0].start().note());
  Restart();
  now = 50;
  session->OnLauncherList({state}, now, now);
  const auto out = session->OnConnected(now);
  ASSERT_EQ(out.send.size(), 1u);
  ASSERT_EQ(out.send[0].register_().held_size(), 1);
  EXPECT_EQ(out.send[0].register_().held(0).state(), "running");
  EXPECT_EQ(out.send[0].register_().held(0).digest(), "7.1.0");
  EXPECT_EQ(out.send[0].register_().held(0).running_for_ns(), 40);
  Welcome();
  EXPECT_THAT(Asked(Desire(v1::GO, false, "me", false)), IsEmpty()) << "no second start";
  EXPECT_THAT(Reports(Answer(0, Exited(4))), ElementsAre("exited 4"));
}

TEST_F(SessionTest, AnEndThatNobodySawIsReportedByTheNextAgent) {
  launcher = {Exited(6)};
  Up();
  EXPECT_THAT(Reports(last), ElementsAre("started", "exited 6"));
  EXPECT_THAT(Asked(WantNothing()), ElementsAre("forget"));
}

TEST_F(SessionTest, WhatTheDaemonDoesNotKnowIsStoppedThenForgotten) {
  launcher = {Running()};
  Up();
  EXPECT_THAT(Asked(WantNothing()), ElementsAre("stop"));
  const auto out = Answer(0, Exited(0));
  EXPECT_THAT(Asked(out), ElementsAre("forget"));
  EXPECT_THAT(Reports(out), IsEmpty());
}

TEST_F(SessionTest, ALauncherStartedAnewIsAskedAgainForWhatItLost) {
  Up();
  Desire(v1::PREPARE);
  Desire(v1::GO);
  session->OnLauncherLost();
  EXPECT_THAT(Asked(session->OnLauncherList({}, now, now)), ElementsAre("start"));
  session->OnLauncherLost();
  EXPECT_THAT(Reports(session->OnLauncherList({Running()}, now, now)), ElementsAre("started"));
  session->OnLauncherLost();
  EXPECT_THAT(Asked(Desire(v1::STOP)), IsEmpty()) << "nobody is there to be asked";
  EXPECT_THAT(Asked(session->OnLauncherList({Running()}, now, now)), ElementsAre("stop"));
  session->OnLauncherLost();
  EXPECT_THAT(Reports(session->OnLauncherList({}, now, now)), ElementsAre("lost"));
}

TEST_F(SessionTest, ARefusalIsHandedOn) {
  v1::ControllerMessage message;
  message.mutable_refusal()->set_why("protocol 2 is needed");
  EXPECT_EQ(session->OnMessage(message, now).refused, "protocol 2 is needed");
}

}  // namespace
}  // namespace sinew::agent
