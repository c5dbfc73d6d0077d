// SPDX-License-Identifier: Apache-2.0
#include "cli/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"

namespace sinew::cli {
namespace {

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() : folder_(testing::TempDir() + "/process_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~ProcessTest() override { std::filesystem::remove_all(folder_); }

  const std::string folder_, log_ = folder_ + "/log";
};

TEST_F(ProcessTest, OutlivesNothingThatItShouldNot) {
  const auto process = Spawn("sleeper", {"/bin/sleep", "600"}, log_);
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_TRUE(IsAlive(*process));
  EXPECT_EQ(::getsid(process->pid), process->pid) << "in a session of its own";
  Process other = *process;
  other.started += 1;
  EXPECT_FALSE(IsAlive(other)) << "another process with that pid";
  Stop(*process, 5000);
  ::waitpid(process->pid, nullptr, WNOHANG);
  EXPECT_FALSE(IsAlive(*process));
}

TEST_F(ProcessTest, KillsWhatIgnoresSigterm) {
  const auto process = Spawn("stubborn", {"/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"}, log_);
  ASSERT_TRUE(process.ok());
  for (int i = 0; i < 500 && LastLines(log_, 1) != "ready"; ++i) ::usleep(10'000);
  Stop(*process, 100);
  ::waitpid(process->pid, nullptr, WNOHANG);
  EXPECT_FALSE(IsAlive(*process));
}

TEST_F(ProcessTest, GivesTheExitStatusAndTheOutput) {
  EXPECT_EQ(*RunToEnd({"/bin/sh", "-c", "echo one; echo two >&2; exit 7"}, log_), 7);
  EXPECT_EQ(*RunToEnd({"/bin/sh", "-c", "kill -9 $$"}, log_), 128 + SIGKILL);
  EXPECT_EQ(LastLines(log_, 1), "two");
  EXPECT_EQ(LastLines(log_, 9), "one | two");
  EXPECT_EQ(LastLines(folder_ + "/none", 9), "");
  EXPECT_EQ(RunToEnd({folder_ + "/none"}, log_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ProcessTest, TheRecordComesBackAsItWasWritten) {
  const std::string path = folder_ + "/record";
  EXPECT_TRUE(ReadRecord(path)->empty());
  ASSERT_TRUE(WriteRecord(path, {{"sinewd", 12, 345}, {"agent-n1", 67, 890}}).ok());
  const auto record = ReadRecord(path);
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_EQ(record->size(), 2u);
  EXPECT_EQ((*record)[1].name, "agent-n1");
  EXPECT_EQ((*record)[1].pid, 67);
  EXPECT_EQ((*record)[1].started, 890u);
}

}  // namespace
}  // namespace sinew::cli
