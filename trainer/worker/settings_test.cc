// SPDX-License-Identifier: Apache-2.0
#include "trainer/worker/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sinew::trainer {
namespace {

using testing::HasSubstr;

constexpr char kSpec[] = R"({"model":"lenet","data":{"format":"idx","path":"/data"},"epochs":2,"batchSize":8,)"
                         R"("algorithm":{"name":"easgd-sync","learningRate":0.1}})";

absl::StatusOr<Settings> From(std::map<std::string, std::string> env) {
  return SettingsFrom([&](const char* name) -> const char* {
    const auto it = env.find(name);
    return it == env.end() ? nullptr : it->second.c_str();
  });
}

std::string ErrorOf(const std::map<std::string, std::string>& env) {
  const auto settings = From(env);
  EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(settings.status().message());
}

TEST(SettingsTest, DefaultsAreFilledIn) {
  const auto settings = From({{"SINEW_TRAIN_SPEC", kSpec}});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->rank, 0);
  EXPECT_EQ(settings->workers, 1);
  EXPECT_EQ(settings->address, "127.0.0.1");
  EXPECT_EQ(settings->train.algorithm().beta(), 0.9);
  EXPECT_GT(settings->train.algorithm().tau(), 0);
  EXPECT_EQ(settings->checkpoint_dir, "");
}

TEST(SettingsTest, TakesWhatTheAgentSays) {
  const auto settings = From({{"SINEW_TRAIN_SPEC", kSpec}, {"RANK", "3"}, {"WORLD_SIZE", "4"}, {"SINEW_JOB_ID", "12"},
                              {"SINEW_RUN", "2"}, {"SINEW_RUNTIME_SOCKET", "/s"}, {"SINEW_TASK_TOKEN", "t"},
                              {"SINEW_NODE_ADDRESS", "10.0.0.1"}, {"SINEW_CHECKPOINT_DIR", "/c"},
                              {"SINEW_RESUME_FROM", "/r"}});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->rank, 3);
  EXPECT_EQ(settings->workers, 4);
  EXPECT_EQ(settings->job, 12u);
  EXPECT_EQ(settings->run, 2u);
  EXPECT_EQ(settings->runtime_socket, "/s");
  EXPECT_EQ(settings->token, "t");
  EXPECT_EQ(settings->address, "10.0.0.1");
  EXPECT_EQ(settings->checkpoint_dir, "/c");
  EXPECT_EQ(settings->resume_from, "/r");
}

TEST(SettingsTest, ErrorsNameTheVariable) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("SINEW_TRAIN_SPEC is not set"));
  EXPECT_THAT(ErrorOf({{"SINEW_TRAIN_SPEC", "{"}}), HasSubstr("SINEW_TRAIN_SPEC cannot be read"));
  EXPECT_THAT(ErrorOf({{"SINEW_TRAIN_SPEC", kSpec}, {"RANK", "1"}}), HasSubstr("RANK=1"));
  EXPECT_THAT(ErrorOf({{"SINEW_TRAIN_SPEC", kSpec}, {"RANK", "-1"}}), HasSubstr("RANK=-1"));
  EXPECT_THAT(ErrorOf({{"SINEW_TRAIN_SPEC", kSpec}, {"WORLD_SIZE", "many"}}), HasSubstr("WORLD_SIZE=many"));
  EXPECT_THAT(ErrorOf({{"SINEW_TRAIN_SPEC", kSpec}, {"MASTER_PORT", "65536"}}), HasSubstr("65535"));
  EXPECT_THAT(ErrorOf({{"SINEW_TRAIN_SPEC", kSpec}, {"WORLD_SIZE", "2"}}), HasSubstr("where to meet"));
}

TEST(SettingsTest, ErrorsNameTheField) {
  EXPECT_THAT(ErrorOf({{"SINEW_TRAIN_SPEC", R"({"model":"lenet"})"}}), HasSubstr("SINEW_TRAIN_SPEC: "));
  std::string spec = kSpec;
  spec.replace(spec.find("\"epochs\":2"), 10, "\"epochs\":-2");
  EXPECT_THAT(ErrorOf({{"SINEW_TRAIN_SPEC", spec}}), HasSubstr("epochs"));
}

}  // namespace
}  // namespace sinew::trainer
