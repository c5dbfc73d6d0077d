// SPDX-License-Identifier: Apache-2.0
#include "spec/validate.h"

#include <gtest/gtest.h>

#include "spec/defaults.h"

namespace sinew {
namespace {

v1::JobSpec Command() {
  v1::JobSpec spec;
  spec.set_kind(v1::COMMAND);
  spec.set_workdir("/home/ann");
  spec.mutable_command()->add_argv("true");
  ApplyDefaults(spec);
  return spec;
}

v1::JobSpec Train() {
  v1::JobSpec spec;
  spec.set_workdir("/home/ann");
  spec.mutable_train()->mutable_data()->set_path("/data");
  ApplyDefaults(spec);
  return spec;
}

// "field: message" of each violation.
std::string Found(const v1::JobSpec& spec) {
  std::string out;
  for (const Violation& v : Validate(spec)) out += v.field + ": " + v.message + "\n";
  return out;
}

void ExpectFound(const v1::JobSpec& spec, const std::string& beginning) {
  const std::string found = Found(spec);
  EXPECT_EQ(found.substr(0, beginning.size()), beginning) << found;
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1) << found;
}

TEST(Defaults, FillInWhatIsUnsetAndNothingElse) {
  v1::JobSpec spec = Command();
  EXPECT_EQ(spec.workers().min(), 1);
  EXPECT_EQ(spec.workers().max(), 1);
  EXPECT_EQ(spec.resources().milli_cpus(), 1000);
  EXPECT_EQ(spec.preempt().grace_ns(), 30'000'000'000);
  EXPECT_FALSE(spec.has_train());

  spec = Train();
  EXPECT_EQ(spec.kind(), v1::TRAIN);
  EXPECT_EQ(spec.train().algorithm().name(), "easgd-sync");
  EXPECT_EQ(spec.train().algorithm().beta(), 0.9);
  EXPECT_EQ(spec.train().algorithm().tau(), 1);
  EXPECT_EQ(spec.train().batch_size(), 64);
  EXPECT_EQ(spec.train().epochs(), 1);
  EXPECT_EQ(spec.train().checkpoint().keep(), 2);

  spec.mutable_workers()->set_min(4);
  spec.mutable_workers()->set_max(4);
  spec.mutable_train()->set_epochs(7);
  const v1::JobSpec given = spec;
  ApplyDefaults(spec);
  EXPECT_EQ(spec.SerializeAsString(), given.SerializeAsString());
}

TEST(Defaults, PatternsAndTheCheckpointFolderKnowTheJob) {
  EXPECT_EQ(ExpandPattern("logs/%j.%r.%a.%%.out%", 12, 3, 2), "logs/12.3.2.%.out%");
  v1::JobSpec spec = Train();
  EXPECT_EQ(CheckpointFolder(spec, 7), "/home/ann/checkpoints/7");
  spec.mutable_train()->mutable_checkpoint()->set_dir("/else/");
  EXPECT_EQ(CheckpointFolder(spec, 7), "/else/7") << "two jobs never share a folder";
  spec.mutable_train()->mutable_checkpoint()->set_dir("mine-%j/x");
  EXPECT_EQ(CheckpointFolder(spec, 7), "/home/ann/mine-7/x");
  EXPECT_EQ(CheckpointFolder(Command(), 7), "");
}

TEST(Validate, AcceptsTheDefaults) {
  EXPECT_EQ(Found(Command()), "");
  EXPECT_EQ(Found(Train()), "");
}

TEST(Validate, NamesTheFieldOfEachFault) {
  const auto command = [](auto change, const std::string& beginning) {
    v1::JobSpec spec = Command();
    change(spec);
    ExpectFound(spec, beginning);
  };
  command([](auto& s) { s.set_name("No_Good"); }, "name: \"No_Good\" is not a name");
  command([](auto& s) { s.set_name(std::string(64, 'a')); }, "name: ");
  command([](auto& s) { s.set_kind(v1::SERVICE); }, "kind: is not supported yet");
  command([](auto& s) { s.set_workdir("relative"); }, "workdir: \"relative\" is not absolute");
  command([](auto& s) { s.clear_workdir(); }, "workdir: must be given");
  command([](auto& s) { s.mutable_command()->clear_argv(); }, "run: must be given");
  command([](auto& s) { s.mutable_command()->add_argv(std::string("a\0b", 3)); }, "run: holds a NUL byte");
  command([](auto& s) { s.mutable_command()->add_argv("\xff"); }, "run: \"\\xff\" is not UTF-8");
  command([](auto& s) { s.mutable_workers()->set_min(-1); }, "workers: -1 is not between");
  command([](auto& s) { s.mutable_workers()->set_max(10'001); }, "workers.max: 10001 is more than");
  command([](auto& s) { s.mutable_workers()->set_max(4); }, "workers: a range is not supported yet");
  command([](auto& s) { s.mutable_resources()->set_milli_cpus(-5); }, "resources.cpus: ");
  command([](auto& s) { s.mutable_resources()->set_memory_bytes(-5); }, "resources.memory: ");
  command([](auto& s) { s.mutable_resources()->add_accelerators(); }, "resources.accelerators: 0 is not between");
  command([](auto& s) { s.set_time_limit_ns(-1); }, "time_limit: is negative");
  command([](auto& s) { (*s.mutable_env())["1X"] = "a"; }, "env: \"1X\" is not a variable name");
  command([](auto& s) { (*s.mutable_env())["X"] = std::string(kMaxEnvBytes, 'a'); }, "env: has 131075 bytes; at most");
  command([](auto& s) { (*s.mutable_env())["X"] = std::string(1, '\0'); }, "env.X: holds a NUL byte");
  command([](auto& s) { s.mutable_placement()->set_pack("rack"); }, "placement.pack: \"rack\" is not known");
  command([](auto& s) { s.mutable_preempt()->set_signal("SIGUSR1"); }, "preempt.signal: \"SIGUSR1\": write it without");
  command([](auto& s) { s.mutable_preempt()->set_signal("USR3"); }, "preempt.signal: \"USR3\" is not known; did you");
  command([](auto& s) { s.mutable_retry()->set_max(-1); }, "retry.max: ");
  command([](auto& s) { s.mutable_retry()->add_on("node_fial"); }, "retry.on: \"node_fial\" is not known; did you mean");
  command([](auto& s) { s.mutable_outputs()->set_stdout("%x"); }, "outputs.stdout: \"%x\" is not known");
  command([](auto& s) { s.set_queue("A B"); }, "queue: ");
  command([](auto& s) { s.add_pools(""); }, "pools: ");

  const auto train = [](auto change, const std::string& beginning) {
    v1::JobSpec spec = Train();
    change(*spec.mutable_train());
    ExpectFound(spec, beginning);
  };
  train([](auto& t) { t.set_model("lent"); }, "model: \"lent\" is not known; did you mean \"lenet\"?");
  train([](auto& t) { t.mutable_data()->set_path(""); }, "data.path: must be given");
  train([](auto& t) { t.mutable_data()->set_format("csv"); }, "data.format: ");
  train([](auto& t) { t.mutable_algorithm()->set_name("easgd-sink"); },
        "algorithm.name: \"easgd-sink\" is not known; did you mean \"easgd-sync\"?");
  train([](auto& t) { t.mutable_algorithm()->set_tau(-1); }, "algorithm.tau: ");
  train([](auto& t) { t.mutable_algorithm()->set_learning_rate(-1); }, "algorithm.learning_rate: ");
  train([](auto& t) { t.mutable_algorithm()->set_momentum(1); }, "algorithm.momentum: 1 is not");
  train([](auto& t) { t.mutable_algorithm()->set_beta(1); }, "algorithm.beta: 1 makes training diverge: with 1 worker ");
  train([](auto& t) { t.mutable_algorithm()->set_beta(-1); }, "algorithm.beta: -1 is not above 0");
  train([](auto& t) { t.set_epochs(-1); }, "epochs: ");
  train([](auto& t) { t.set_batch_size(1 << 20); }, "batch_size: ");
}

TEST(Validate, TheStabilityBoundGrowsWithTheWorkers) {
  v1::JobSpec spec = Train();
  spec.mutable_workers()->set_min(4);
  spec.mutable_workers()->set_max(4);
  spec.mutable_train()->mutable_algorithm()->set_beta(1.5);
  EXPECT_EQ(Found(spec), "");
  spec.mutable_train()->mutable_algorithm()->set_beta(1.6);
  EXPECT_NE(Found(spec), "");
}

}  // namespace
}  // namespace sinew
