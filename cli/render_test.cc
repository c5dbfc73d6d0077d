// SPDX-License-Identifier: Apache-2.0
// What people and scripts see, byte for byte. SINEW_UPDATE_GOLDEN=<folder> writes the files instead of comparing.
#include "cli/render.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/files.h"
#include "cli/follow_view.h"

namespace sinew::cli {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000'000;

void Golden(const std::string& name, const std::string& text) {
  if (const char* folder = ::getenv("SINEW_UPDATE_GOLDEN"); folder != nullptr) {
    ASSERT_TRUE(WriteFileAtomic(std::string(folder) + "/" + name, text).ok());
    return;
  }
  const auto expected = ReadFile("cli/testdata/" + name);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(text, *expected) << name;
}

v1::Job TrainJob() {
  v1::Job job;
  job.set_name("jobs/12");
  job.set_id(12);
  job.set_user("ada");
  job.set_uid(1000);
  job.set_state(v1::RUNNING);
  job.set_run(2);
  job.mutable_submitted()->set_seconds(1'699'999'000);
  job.mutable_started()->set_seconds(1'699'999'800);
  job.mutable_state_since()->set_seconds(1'699'999'800);
  v1::JobSpec& spec = *job.mutable_spec();
  spec.set_name("lenet");
  spec.set_kind(v1::TRAIN);
  spec.set_workdir("/home/ada/\u00e9t\u00e9 \"1\"");
  spec.mutable_workers()->set_min(4);
  spec.mutable_workers()->set_max(4);
  spec.mutable_resources()->set_milli_cpus(1500);
  spec.mutable_resources()->set_memory_bytes(int64_t{3} << 30);
  spec.mutable_train()->set_model("lenet");
  spec.mutable_train()->mutable_algorithm()->set_name("easgd-sync");
  spec.mutable_train()->mutable_algorithm()->set_tau(4);
  v1::Progress& progress = *job.mutable_progress();
  progress.set_step(340);
  progress.set_total_steps(1406);
  progress.set_epoch(0.725);
  progress.set_total_epochs(3);
  progress.set_loss(0.4123);
  progress.set_accuracy(0.8512);
  progress.set_has_accuracy(true);
  progress.set_items_per_second(3210.4);
  progress.set_phase("training");
  return job;
}

v1::Job WaitingJob() {
  v1::Job job;
  job.set_name("jobs/13");
  job.set_id(13);
  job.set_user("bob\x1b[31m");
  job.set_uid(1001);
  job.set_state(v1::PENDING);
  job.mutable_submitted()->set_seconds(1'699'999'990);
  job.mutable_spec()->set_name("hello");
  job.mutable_spec()->set_kind(v1::COMMAND);
  job.mutable_spec()->mutable_command()->add_argv("echo");
  job.mutable_spec()->mutable_command()->add_argv("two words");
  return job;
}

TEST(Render, ListsOfJobs) {
  v1::ListJobsResponse jobs;
  *jobs.add_jobs() = TrainJob();
  *jobs.add_jobs() = WaitingJob();
  Golden("jobs.txt", JobList(jobs, {Format::kTable, kNow, 0}));
  Golden("jobs_wide.txt", JobList(jobs, {Format::kWide, kNow, 0}));
  Golden("jobs.json", JobList(jobs, {Format::kJson, kNow, 0}));
  Golden("jobs.yaml", JobList(jobs, {Format::kYaml, kNow, 0}));
  Golden("jobs_name.txt", JobList(jobs, {Format::kName, kNow, 0}));
  Golden("jobs_none.json", JobList({}, {Format::kJson, kNow, 0}));
  Golden("jobs_none.txt", JobList({}, {Format::kTable, kNow, 0}));
}

TEST(Render, OneJob) {
  Golden("job.txt", JobPage(TrainJob(), {}, {Format::kTable, kNow, 0}));
  Golden("job.json", JobPage(TrainJob(), {}, {Format::kJson, kNow, 0}));
  Golden("job.yaml", JobPage(WaitingJob(), {}, {Format::kYaml, kNow, 0}));
}

TEST(Render, Nodes) {
  v1::ListNodesResponse nodes;
  v1::Node& node = *nodes.add_nodes();
  node.set_name("nodes/n1");
  node.set_state(v1::UP);
  node.set_pool("default");
  node.mutable_last_heard()->set_seconds(1'699'999'998);
  node.set_free_milli_cpus(6000);
  node.add_jobs(12);
  node.mutable_info()->set_milli_cpus(8000);
  node.mutable_info()->set_memory_bytes(int64_t{16} << 30);
  v1::DeviceInfo& device = *node.mutable_info()->add_devices();
  device.set_type("cpu-slot");
  Golden("nodes.txt", NodeList(nodes, {Format::kTable, kNow, 0}));
  Golden("nodes.json", NodeList(nodes, {Format::kJson, kNow, 0}));
  Golden("node.txt", NodePage(node, {Format::kTable, kNow, 0}));
  Golden("node.json", NodePage(node, {Format::kJson, kNow, 0}));
}

TEST(Render, ControlCharactersOfAUserReachNoTerminal) {
  v1::ListJobsResponse jobs;
  *jobs.add_jobs() = WaitingJob();
  for (const Format format : {Format::kTable, Format::kWide, Format::kJson, Format::kYaml, Format::kName}) {
    EXPECT_EQ(JobList(jobs, {format, kNow, 0}).find('\x1b'), std::string::npos);
  }
}

TEST(Render, Progress) {
  EXPECT_EQ(ProgressText(TrainJob().progress()),
            "step 340/1406 (24%), epoch 0.72/3, loss 0.4123, 3210 images/s, accuracy 0.8512");
  EXPECT_EQ(ProgressText({}), "");
}

TEST(Render, NamesOfJobs) {
  EXPECT_EQ(*JobName("12"), "jobs/12");
  EXPECT_EQ(*JobName("jobs/12"), "jobs/12");
  for (const std::string bad : {"", "jobs/", "-1", "12x", "nodes/1", "99999999999999999999"}) {
    EXPECT_FALSE(JobName(bad).ok()) << bad;
  }
  EXPECT_EQ(NodeName("n1"), "nodes/n1");
}

TEST(Follow, WithoutATerminalALineWhenSomethingChanged) {
  testing::internal::CaptureStderr();
  FollowView view(false, 0);
  v1::Job job = TrainJob();
  view.Show(job, false, kNow, 1'000'000'000);
  view.Show(job, false, kNow, 1'100'000'000);
  job.mutable_progress()->set_step(640);
  view.Show(job, false, kNow, 4'000'000'000);
  view.Close();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find('\x1b'), std::string::npos);
  EXPECT_NE(said.find("340/1406"), std::string::npos) << said;
  EXPECT_NE(said.find("640/1406"), std::string::npos) << said;
  EXPECT_EQ(said.find("340/1406"), said.rfind("340/1406")) << "said once: " << said;
}

}  // namespace
}  // namespace sinew::cli
