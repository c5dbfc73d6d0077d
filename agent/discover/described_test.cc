// SPDX-License-Identifier: Apache-2.0
#include "agent/discover/described.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/discover/cpu_list.h"

namespace sinew::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CpuListTest, ReadsTheKernelsNotation) {
  EXPECT_THAT(ParseCpuList("0-3,8\n").value(), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(ParseCpuList("8,1-2,2").value(), ElementsAre(1, 2, 8));
  EXPECT_THAT(ParseCpuList("").value(), IsEmpty());
  EXPECT_THAT(ParseCpuList(" \n").value(), IsEmpty());
  EXPECT_THAT(ParseCpuList("65535").value(), ElementsAre(65535));
}

TEST(CpuListTest, RefusesWhatIsNoList) {
  const std::string bad[] = {"x", "1-", "-1", "3-1", "1,,2", "1;2", ",", "1,", "65536", "99999999999999999999", "0-0-1", "1 2"};
  for (const std::string& text : bad) EXPECT_FALSE(ParseCpuList(text).ok()) << text;
  EXPECT_FALSE(ParseCpuList("0-4", 3).ok());
}

TEST(DescribedTest, ReadsEveryField) {
  const auto node = ParseDescription(R"(
cpus: 4
memory: 8Gi
cpu_model: A model
idle_power: 50W
max_power: 120W
numa:
  - {cpus: "0-1", memory: 3Gi}
  - {cpus: "2,3", memory: 4Gi}
  - {memory: 16Gi}
knl: {cluster_mode: snc2, memory_mode: hybrid50}
devices:
  - {type: v100, count: 2, memory: 32Gi, idle_power: 40W, max_power: 300W, numa: 1, island: 3}
  - {type: knl}
)", "h.yaml");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_TRUE(node->described());
  EXPECT_EQ(node->milli_cpus(), 4000);
  EXPECT_EQ(node->memory_bytes(), int64_t{8} << 30);
  EXPECT_EQ(node->cpu_model(), "A model");
  EXPECT_EQ(node->idle_milliwatts(), 50'000);
  EXPECT_EQ(node->max_milliwatts(), 120'000);
  ASSERT_EQ(node->numa_size(), 3);
  EXPECT_THAT(node->numa(1).cpus(), ElementsAre(2, 3));
  EXPECT_EQ(node->numa(2).memory_bytes(), int64_t{16} << 30);
  EXPECT_EQ(node->knl_cluster_mode(), "snc2");
  EXPECT_EQ(node->knl_memory_mode(), "hybrid50");
  EXPECT_EQ(node->knl_mode_source(), "described");
  ASSERT_EQ(node->devices_size(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(node->devices(i).index(), i);
  EXPECT_EQ(node->devices(1).type(), "v100");
  EXPECT_EQ(node->devices(1).memory_bytes(), int64_t{32} << 30);
  EXPECT_EQ(node->devices(1).max_milliwatts(), 300'000);
  EXPECT_EQ(node->devices(1).numa_node(), 1);
  EXPECT_EQ(node->devices(1).island(), 3);
  EXPECT_EQ(node->devices(2).type(), "knl");
}

struct Bad {
  const char* text;
  const char* place;
  const char* says;
};

TEST(DescribedTest, AnErrorNamesThePlaceAndTheField) {
  const Bad cases[] = {
      {"memory: 1Gi\n", "h.yaml:1:1", "cpus: is missing"},
      {"cpus: 1\n", "h.yaml:1:1", "memory: is missing"},
      {"cpus: 0\nmemory: 1Gi\n", "h.yaml:1:7", "cpus"},
      {"cpus: 65537\nmemory: 1Gi\n", "h.yaml:1:7", "65536"},
      {"cpus: 1\nmemory: 0Gi\n", "h.yaml:2:9", "memory"},
      {"cpus: 1\nmemory: 12\nmemmory: 1\n", "h.yaml:3:1", "memory"},
      {"cpus: 1\nmemory: 1Gi\nidle_power: 5\n", "h.yaml:3:13", "idle_power"},
      {"cpus: 1\nmemory: 1Gi\nidle_power: 5W\nmax_power: 4W\n", "h.yaml:4:12", "below idle_power"},
      {"cpus: 1\nmemory: 1Gi\ndevices: [{count: 2}]\n", "h.yaml:3:11", "type: is missing"},
      {"cpus: 1\nmemory: 1Gi\ndevices: [{type: V100}]\n", "h.yaml:3:18", "devices[0].type"},
      {"cpus: 1\nmemory: 1Gi\ndevices: [{type: a, count: 4096}, {type: b}]\n", "h.yaml:3", "at most 4096"},
      {"cpus: 1\nmemory: 1Gi\ndevices: [{type: a, numa: 1}]\n", "h.yaml:3", "devices[0].numa"},
      {"cpus: 1\nmemory: 1Gi\ndevices: [{type: a, idle_power: 2W, max_power: 1W}]\n", "h.yaml:3", "max_power: is below"},
      {"cpus: 2\nmemory: 1Gi\nnuma: [{cpus: 0-2, memory: 1Gi}]\n", "h.yaml:3", "has CPU 2, but the node's last is 1"},
      {"cpus: 2\nmemory: 1Gi\nnuma: [{cpus: '0'}, {cpus: 0-1}]\n", "h.yaml:3", "has CPU 0, which another has"},
      {"cpus: 2\nmemory: 1Gi\nnuma: [{cpus: 0-1, memory: 2Gi}]\n", "h.yaml:3", "more memory than the node"},
      {"cpus: 2\nmemory: 1Gi\nnuma: [{cpus: zero}]\n", "h.yaml:3:15", "numa[0].cpus"},
      {"cpus: 2\nmemory: 1Gi\nknl: {cluster_mode: snc3, memory_mode: flat}\n", "h.yaml:3:21", "snc4"},
      {"cpus: 2\nmemory: 1Gi\nknl: {cluster_mode: snc4}\n", "h.yaml:3:6", "memory_mode: is missing"},
      {"- 1\n", "h.yaml:1:1", ""},
      {"cpus: [\n", "h.yaml:", ""},
  };
  for (const Bad& bad : cases) {
    const auto node = ParseDescription(bad.text, "h.yaml");
    ASSERT_FALSE(node.ok()) << bad.text;
    EXPECT_EQ(node.status().code(), absl::StatusCode::kInvalidArgument) << bad.text;
    EXPECT_THAT(std::string(node.status().message()), HasSubstr(bad.place)) << bad.text;
    EXPECT_THAT(std::string(node.status().message()), HasSubstr(bad.says)) << bad.text;
  }
}

TEST(DescribedTest, AMissingFileSaysSo) {
  const auto node = DescribedNode("/nonexistent/h.yaml");
  EXPECT_EQ(node.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(node.status().message()), HasSubstr("/nonexistent/h.yaml"));
}

}  // namespace
}  // namespace sinew::agent
