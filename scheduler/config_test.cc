// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "policies/pipeline.h"
#include "scheduler/policy_file.h"

namespace sinew {
namespace {

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "/" + name;
  EXPECT_TRUE(WriteFileAtomic(path, text).ok());
  return path;
}

std::string ErrorOf(const std::string& text) {
  const auto config = ReadConfig(Write("bad.yaml", text));
  return config.ok() ? "" : std::string(config.status().message());
}

TEST(Config, ReadsEveryKeyAndFindsPathsBesideItself) {
  Write("my-policy.yaml", "order: fifo\nsize: fixed\nplace: {spread: {}}\n");
  const auto config = ReadConfig(Write("good.yaml",
      "state_dir: state\nsocket: /tmp/x.sock\nsocket_mode: 0660\nagents: {uids: [0, 1]}\npolicy: my-policy.yaml\n"
      "nodes:\n  - {name: n1, pool: gpu}\nlog_level: debug\nstart_limit: 2m\nretention: {jobs: 90d}\n"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->socket_mode, 0660);
  EXPECT_TRUE(config->state_dir.ends_with("/state"));
  EXPECT_EQ(config->state_dir[0], '/');
  EXPECT_EQ(config->agent_uids, (std::set<uint32_t>{0, 1}));
  EXPECT_EQ(config->keep_jobs_ns, int64_t{90} * 24 * 3600 * 1'000'000'000);
  EXPECT_EQ(config->policy.name, "my-policy");
  EXPECT_EQ(config->nodes.at(0).pool, "gpu");
  EXPECT_TRUE(Pipeline::Make(Registry::WithBuiltIns(), config->policy).ok());
}

TEST(Config, ErrorsNameTheirPlace) {
  EXPECT_NE(ErrorOf("state_dir: s\nheartbeet: 1s\n").find("bad.yaml:2:1: heartbeet: unknown key"), std::string::npos);
  EXPECT_NE(ErrorOf("state_dir: s\nlog_level: loud\n").find(":2:12: log_level: \"loud\""), std::string::npos);
  EXPECT_NE(ErrorOf("socket: s\n").find("state_dir"), std::string::npos);
  EXPECT_NE(ErrorOf("state_dir: s\npolicy: none.yaml\n").find("none.yaml"), std::string::npos);
  EXPECT_NE(ErrorOf("state_dir: s\nstart_limit: 5\n").find("unit"), std::string::npos);
  EXPECT_NE(ErrorOf("state_dir: s\nretention: {jobs: 30s}\n").find(":2:19: retention.jobs: must be at least 1h"),
            std::string::npos)
      << ErrorOf("state_dir: s\nretention: {jobs: 30s}\n");
}

TEST(PolicyFile, RefusesUnknownSlotsAndStagesAreCheckedByTheRegistry) {
  EXPECT_FALSE(ParsePolicy("ordr: fifo\n", "p.yaml", "p").ok());
  const auto spec = ParsePolicy("order: fifo\nsize: fixed\nplace: pakc\n", "p.yaml", "p");
  ASSERT_TRUE(spec.ok());
  EXPECT_FALSE(Pipeline::Make(Registry::WithBuiltIns(), *spec).ok());
}

}  // namespace
}  // namespace sinew
