// SPDX-License-Identifier: Apache-2.0
#include "cli/spec_builder.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sinew::cli {
namespace {

class SpecBuilderTest : public testing::Test {
 protected:
  SpecBuilderTest() : folder_(testing::TempDir() + "/spec_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~SpecBuilderTest() override { std::filesystem::remove_all(folder_); }

  Options File(const std::string& text) {
    Options options;
    options.file = folder_ + "/job.yaml";
    std::ofstream(options.file) << text;
    return options;
  }
  static Options Command(std::vector<std::string> words) {
    Options options;
    options.command = std::move(words);
    return options;
  }
  static std::string Error(const Options& options) { return std::string(BuildSpec(options, false).status().message()); }

  const std::string folder_;
};

TEST_F(SpecBuilderTest, TakesTheWordsOfACommandAsTheyAre) {
  const std::vector<std::string> words = {"echo", "a b", "$HOME", "--name", "", "'\"\n"};
  const auto spec = BuildSpec(Command(words), false);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(std::vector<std::string>(spec->command().argv().begin(), spec->command().argv().end()), words);
  EXPECT_EQ(spec->kind(), v1::COMMAND);
  EXPECT_EQ(spec->workdir(), std::filesystem::current_path().string());
}

TEST_F(SpecBuilderTest, FlagsAndSetsGoOverTheFile) {
  Options options = File("kind: command\nrun: [sleep, \"1\"]\nname: one\nworkdir: /tmp\nresources: {cpus: 1}\n");
  options.flags = {{"--cpus", {"resources.cpus", "2"}}};
  options.sets = {"name=two"};
  options.exports = {"GREETING=hello = world"};
  const auto spec = BuildSpec(options, false);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name(), "two");
  EXPECT_EQ(spec->resources().milli_cpus(), 2000);
  EXPECT_EQ(spec->env().at("GREETING"), "hello = world");
  EXPECT_EQ(spec->workdir(), "/tmp");
  EXPECT_EQ(spec->preempt().grace_ns(), 0) << "defaults are the daemon's";
  EXPECT_GT(BuildSpec(options, true)->preempt().grace_ns(), 0);
}

TEST_F(SpecBuilderTest, CopiesVariablesOfTheCallerByName) {
  Options options = Command({"true"});
  options.exports = {"SINEW_TEST_COPIED"};
  ::unsetenv("SINEW_TEST_COPIED");
  EXPECT_EQ(Error(options),
            "--export SINEW_TEST_COPIED: there is no such variable here; give it a value with --export "
            "SINEW_TEST_COPIED=VALUE");
  ::setenv("SINEW_TEST_COPIED", "v", 1);
  EXPECT_EQ(BuildSpec(options, false)->env().at("SINEW_TEST_COPIED"), "v");
}

TEST_F(SpecBuilderTest, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(Error({}), "nothing to run: give a job file, - for stdin, or -- and a command");
  Options both = File("kind: command\nrun: [true]\n");
  both.command = {"true"};
  EXPECT_EQ(Error(both), "both a job file and a command after --; give one of them");

  const std::string unknown = Error(File("kind: command\nrun: [\"true\"]\nresorces: {cpus: 1}\n"));
  EXPECT_NE(unknown.find("job.yaml:3:"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("resorces"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("resources"), std::string::npos) << unknown;

  const std::string unit = Error(File("kind: command\nrun: [\"true\"]\nresources: {memory: 3Qx}\n"));
  EXPECT_NE(unit.find("job.yaml:3:"), std::string::npos) << unit;
  EXPECT_NE(unit.find("3Qx"), std::string::npos) << unit;

  Options set = Command({"true"});
  set.sets = {"name"};
  EXPECT_EQ(Error(set), "--set name: has no =; write --set algorithm.tau=4");

  Options none;
  none.file = folder_ + "/none.yaml";
  const std::string missing = Error(none);
  EXPECT_NE(missing.find(none.file), std::string::npos) << missing;
  EXPECT_NE(missing.find("No such file"), std::string::npos) << missing;
}

TEST_F(SpecBuilderTest, LooksWhetherFoldersAreThere) {
  Options options = File("kind: command\nrun: [\"true\"]\nworkdir: /nowhere/at/all\n");
  EXPECT_NE(Error(options).find("/nowhere/at/all does not exist; if the nodes have it"), std::string::npos)
      << Error(options);
  options.check_paths = false;
  EXPECT_TRUE(BuildSpec(options, false).ok());
}

}  // namespace
}  // namespace sinew::cli
