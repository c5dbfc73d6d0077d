// SPDX-License-Identifier: Apache-2.0
#include "agent/task_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "proto/sinew/v1/spec.pb.h"

namespace sinew::agent {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

NodeFacts Facts() {
  NodeFacts facts{"n1", "/opt/sinew-trainer", "/run/runtime.sock", {}};
  facts.info.set_address("10.0.0.7");
  for (int i = 0; i < 3; ++i) {
    v1::DeviceInfo& device = *facts.info.add_devices();
    device.set_index(i);
    device.set_type(i == 2 ? "cpu-slot" : "v100");
    device.set_uuid(i == 0 ? "GPU-00aa" : "described-" + std::to_string(i));
  }
  return facts;
}

Note MakeNote() {
  Note note;
  note.set_token("secret");
  v1::TaskBody& body = *note.mutable_body();
  body.mutable_key()->set_job(7);
  body.mutable_key()->set_run(2);
  body.mutable_key()->set_rank(3);
  body.add_argv("/bin/true");
  body.set_workdir("/home/ann/dir");
  body.set_uid(::getuid());
  body.set_gid(::getgid());
  body.set_user("someone");
  body.set_milli_cpus(2500);
  body.set_world_size(4);
  body.set_num_nodes(2);
  return note;
}

TEST(WhyNot, NamesWhatIsMissing) {
  Note note = MakeNote();
  EXPECT_EQ(WhyNot(note.body(), Facts()), "");
  note.mutable_body()->add_devices(5);
  EXPECT_THAT(WhyNot(note.body(), Facts()), HasSubstr("no device 5"));
  note.mutable_body()->clear_devices();
  note.mutable_body()->set_argv(0, "@trainer");
  NodeFacts bare = Facts();
  bare.trainer.clear();
  EXPECT_THAT(WhyNot(note.body(), bare), HasSubstr("sinew-trainer"));
  note.mutable_body()->set_train("\xff\xff");
  EXPECT_THAT(WhyNot(note.body(), Facts()), HasSubstr("cannot be read"));
  note = MakeNote();
  note.mutable_body()->set_workdir("here");
  EXPECT_THAT(WhyNot(note.body(), Facts()), HasSubstr("not absolute"));
  note.mutable_body()->clear_argv();
  EXPECT_NE(WhyNot(note.body(), Facts()), "");
}

TEST(MakeStart, TellsTheTaskWhereItIs) {
  Note note = MakeNote();
  note.mutable_body()->set_stdout("out.7");
  v1::DesiredTask desired;
  desired.set_master_address("10.0.0.1");
  desired.set_master_port(4711);
  const v1::StartTask start = MakeStart(note, desired, Facts());
  EXPECT_EQ(start.argv(0), "/bin/true");
  EXPECT_EQ(start.stdout_path(), "/home/ann/dir/out.7");
  EXPECT_EQ(start.stderr_path(), "");
  for (const char* entry :
       {"RANK=3", "WORLD_SIZE=4", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=4711", "OMP_NUM_THREADS=2",
        "OPENBLAS_NUM_THREADS=2", "SINEW_JOB_ID=7", "SINEW_RUN=2", "SINEW_TASK_TOKEN=secret",
        "SINEW_RUNTIME_SOCKET=/run/runtime.sock", "SINEW_NODE_ADDRESS=10.0.0.7", "TORCHELASTIC_RESTART_COUNT=1",
        "CUDA_VISIBLE_DEVICES=", "SINEW_DEVICES="}) {
    EXPECT_THAT(start.env(), Contains(entry));
  }
}

TEST(MakeStart, TheJobMayChooseItsThreadsButNotItsRankOrDevices) {
  Note note = MakeNote();
  auto& env = *note.mutable_body()->mutable_env();
  env["OMP_NUM_THREADS"] = "9";
  env["RANK"] = "0";
  env["CUDA_VISIBLE_DEVICES"] = "all of them";
  env["SINEW_TASK_TOKEN"] = "of another";
  for (int i = 0; i < 3; ++i) note.mutable_body()->add_devices(i);
  const v1::StartTask start = MakeStart(note, {}, Facts());
  EXPECT_THAT(start.env(), Contains("OMP_NUM_THREADS=9"));
  EXPECT_THAT(start.env(), Contains("RANK=3"));
  EXPECT_THAT(start.env(), Contains("CUDA_VISIBLE_DEVICES=GPU-00aa,1")) << "a cpu-slot is no GPU";
  EXPECT_THAT(start.env(), Contains("SINEW_DEVICES=0,1,2"));
  EXPECT_THAT(start.env(), Contains("SINEW_TASK_TOKEN=secret"));
}

TEST(MakeStart, TheTrainerGetsItsSpecification) {
  Note note = MakeNote();
  v1::TrainSpec train;
  train.set_model("lenet");
  train.mutable_algorithm()->set_learning_rate(0.5);
  note.mutable_body()->set_argv(0, "@trainer");
  note.mutable_body()->set_train(train.SerializeAsString());
  note.mutable_body()->set_rendezvous(true);
  const v1::StartTask start = MakeStart(note, {}, Facts());
  EXPECT_EQ(start.argv(0), "/opt/sinew-trainer");
  EXPECT_THAT(start.env(), Contains(HasSubstr("\"learning_rate\":0.5")));
  EXPECT_THAT(start.env(), Not(Contains(StartsWith("MASTER_PORT=")))) << "it meets its peers through the runtime";
}

}  // namespace
}  // namespace sinew::agent
