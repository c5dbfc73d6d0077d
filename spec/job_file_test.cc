// SPDX-License-Identifier: Apache-2.0
#include "spec/job_file.h"

#include <gtest/gtest.h>

#include "spec/defaults.h"
#include "spec/words.h"

namespace sinew {
namespace {

std::string Error(const std::string& text) {
  return std::string(ParseJobFile(text, "job.yaml").status().message());
}

TEST(JobFile, ReadsEveryKey) {
  auto file = ParseJobFile(R"(apiVersion: v1
name: resnet
kind: train
model: lenet
data: {format: idx, path: /data}
workers: 4
resources:
  accelerators: [{h100: 1}, "v100:2", {any: 3}]
  cpus: 500m
  memory: 32Gi
placement: {pack: node, spread: none}
algorithm: {name: easgd-sync, beta: 0.8, tau: 4, learning_rate: 0.01, momentum: 0.5}
epochs: 3
batch_size: 32
seed: 9
threads: 2
time_limit: 12h
workdir: /w
queue: q
pools: [a, b]
checkpoint: {dir: ckpt, interval: 10m, keep: 3, resume: never}
preempt: {notice: 60s, signal: USR1, grace: 5s}
retry: {max: 3, on: [node_fail, signal]}
env: {A: 1, B: "x y"}
outputs: {stdout: o.%j, stderr: e}
)", "job.yaml");
  ASSERT_TRUE(file.ok()) << file.status();
  const v1::JobSpec& s = file->spec;
  EXPECT_EQ(s.name(), "resnet");
  EXPECT_EQ(s.kind(), v1::TRAIN);
  EXPECT_EQ(s.workers().min(), 4);
  ASSERT_EQ(s.resources().accelerators_size(), 3);
  EXPECT_EQ(s.resources().accelerators(1).type(), "v100");
  EXPECT_EQ(s.resources().accelerators(1).count(), 2);
  EXPECT_EQ(s.resources().accelerators(2).type(), "");
  EXPECT_EQ(s.resources().milli_cpus(), 500);
  EXPECT_EQ(s.resources().memory_bytes(), int64_t{32} << 30);
  EXPECT_EQ(s.placement().pack(), "node");
  EXPECT_EQ(s.placement().spread(), "");
  EXPECT_EQ(s.train().algorithm().tau(), 4);
  EXPECT_EQ(s.train().seed(), 9u);
  EXPECT_EQ(s.time_limit_ns(), 43'200'000'000'000);
  EXPECT_EQ(s.pools_size(), 2);
  EXPECT_FALSE(s.train().checkpoint().resume());
  EXPECT_EQ(s.preempt().grace_ns(), 5'000'000'000);
  EXPECT_EQ(s.retry().on(1), "signal");
  EXPECT_EQ(s.env().at("A"), "1");
  EXPECT_EQ(s.outputs().stdout(), "o.%j");

  auto again = ParseJobFile(FormatJobFile(s), "again");
  ASSERT_TRUE(again.ok()) << again.status() << FormatJobFile(s);
  EXPECT_EQ(again->spec.DebugString(), s.DebugString());
}

TEST(JobFile, ReadsCommands) {
  EXPECT_EQ(ParseJobFile("run: echo 'a b' \"c\\\"d\" e\\ f\n", "f")->spec.command().argv_size(), 4);
  auto file = ParseJobFile("kind: command\nrun: [/bin/bash, -c, 'x; y \"$Z\" \\']\n", "f");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->spec.command().argv(2), "x; y \"$Z\" \\");
  auto again = ParseJobFile(FormatJobFile(file->spec), "again");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->spec.DebugString(), file->spec.DebugString());
}

TEST(JobFile, ErrorsNamePlaceFieldValueAndWhatIsAccepted) {
  EXPECT_EQ(Error("kind: command\nrun: 'true'\nworkrs: 2\n"),
            "job.yaml:3:1: workrs: unknown key; did you mean \"workers\"?");
  EXPECT_EQ(Error("kind: command\nrun: 'true'\ntime_limit: 12\n"),
            "job.yaml:3:13: time_limit: \"12\" is not a duration with its unit, such as 500ms, 30s, 10m, 12h or 2d");
  EXPECT_EQ(Error("kind: command\nrun: 'true'\nresources: {memory: 3 parsecs}\n"),
            "job.yaml:3:21: resources.memory: \"3 parsecs\" is not a size with its unit, such as 512Mi, 32Gi or 1T");
  EXPECT_EQ(Error("kind: comand\nrun: 'true'\n"),
            "job.yaml:1:7: kind: \"comand\" is not known; did you mean \"command\"?");
  EXPECT_EQ(Error("kind: command\nrun: 'true'\nworkers: 0\n"), "job.yaml:3:10: workers: 0 is not between 1 and 10000");
  EXPECT_EQ(Error("run: 'true'\ndeadline: 2026-12-03T18:00Z\n"), "job.yaml:2:11: deadline: is not supported yet");
  EXPECT_EQ(Error("run: 'true'\nretry: {backoff: 1s}\n"), "job.yaml:2:18: retry.backoff: is not supported yet");
  EXPECT_EQ(Error("run: 'true'\nplacement: {network: same}\n"), "job.yaml:2:22: placement.network: is not supported yet");
  EXPECT_EQ(Error("kind: service\nrun: 'true'\n"), "job.yaml:1:7: kind: \"service\" is not supported yet");
  EXPECT_EQ(Error("kind: command\nrun: 'true'\nepochs: 3\n"), "job.yaml:3:9: epochs: belongs to kind: train");
  EXPECT_EQ(Error("kind: train\nrun: 'true'\n"), "job.yaml:2:6: run: belongs to kind: command");
  EXPECT_EQ(Error("apiVersion: v2\nrun: x\n"), "job.yaml:1:13: apiVersion: \"v2\" is not known; known is: v1");
  EXPECT_EQ(Error("name: x\n"), "job.yaml:1:1: kind: must be given: command or train");
  EXPECT_EQ(Error("run: a | b\n"), "job.yaml:1:6: run: \"|\" belongs to a shell, and none runs here; quote it, or write "
                                   "run: [/bin/sh, -c, '...']");
  EXPECT_EQ(Error("run: echo 'x\n"), "job.yaml:1:6: run: a quote ' is not closed");
  EXPECT_NE(Error("run: x\nresources: {accelerators: [{a: 1, b: 2}]}\n").find("one type with its count"), std::string::npos);
  EXPECT_NE(Error("run: x\nresources: {accelerators: 'v100:lots'}\n").find("v100:lots"), std::string::npos);
  EXPECT_NE(Error("kind: train\nalgorithm: {beta: 0}\n").find("algorithm.beta: 0 is not above 0"), std::string::npos);
  EXPECT_NE(Error("").find("is empty"), std::string::npos);
  EXPECT_NE(Error("a: [1\n").find("job.yaml:"), std::string::npos);
}

TEST(JobFile, PlacesLeadFromAFieldToItsLine) {
  auto file = ParseJobFile("kind: train\nalgorithm:\n  name: x\n", "job.yaml");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->At("algorithm.name", "no"), "job.yaml:3:9: algorithm.name: no");
  EXPECT_EQ(file->At("algorithm.beta", "no"), "job.yaml:3:3: algorithm.beta: no");
  EXPECT_EQ(file->At("data.path", "no"), "job.yaml: data.path: no");
}

TEST(JobFile, LaterKeysReplaceEarlierOnes) {
  auto file = ParseJobFile("kind: train\nepochs: 3\nalgorithm: {tau: 2, beta: 0.5}\nenv: {A: 1}\npools: [a]\n", "f");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(SetKey(*file, "algorithm.tau", "8", "--set").ok());
  EXPECT_TRUE(SetKey(*file, "env.B", "2", "--set").ok());
  EXPECT_TRUE(SetKey(*file, "pools", "[b]", "--set").ok());
  EXPECT_EQ(file->spec.train().algorithm().tau(), 8);
  EXPECT_EQ(file->spec.train().algorithm().beta(), 0.5);
  EXPECT_EQ(file->spec.env_size(), 2);
  EXPECT_EQ(file->spec.pools_size(), 1);
  EXPECT_EQ(file->spec.pools(0), "b");
  EXPECT_EQ(std::string(SetKey(*file, "algorithm.tao", "8", "--set").message()),
            "--set: algorithm.tao: unknown key; did you mean \"tau\"?");
  EXPECT_EQ(std::string(SetKey(*file, "time_limit", "12", "--time-limit").message()),
            "--time-limit: time_limit: \"12\" is not a duration with its unit, such as 500ms, 30s, 10m, 12h or 2d");
  EXPECT_FALSE(SetKey(*file, "a..b", "8", "--set").ok());
  EXPECT_EQ(file->At("algorithm.tau", "no"), "--set: algorithm.tau: no");
}

}  // namespace
}  // namespace sinew
