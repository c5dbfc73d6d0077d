// SPDX-License-Identifier: Apache-2.0
#include "base/yaml.h"

#include <gtest/gtest.h>

#include "base/quantity.h"

namespace sinew {
namespace {

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(Yaml, NamesFileLineColumnAndTheNearestKey) {
  auto root = yaml::Parse("a: 1\nworkrs: 2\n", "job.yaml");
  ASSERT_TRUE(root.ok()) << root.status();
  auto entries = root->Map({"a", "workers"});
  EXPECT_EQ(Message(entries.status()), "job.yaml:2:1: workrs: unknown key; did you mean \"workers\"?");
}

TEST(Yaml, ReadsScalarsByType) {
  auto root = yaml::Parse("i: 7\nd: 30s\nb: 2Gi\nc: 0.5\nt: true\nl: [1, 2]\n", "f");
  ASSERT_TRUE(root.ok());
  auto map = *root->Map();
  EXPECT_EQ(*map[0].second.Int(0, 10), 7);
  EXPECT_EQ(*map[1].second.DurationNs(), 30'000'000'000);
  EXPECT_EQ(*map[2].second.Bytes(), 2LL << 30);
  EXPECT_EQ(*map[3].second.MilliCpus(), 500);
  EXPECT_EQ(*map[4].second.Bool(), true);
  EXPECT_EQ(map[5].second.List()->size(), 2u);
  EXPECT_EQ(Message(map[0].second.Int(8, 10).status()), "f:1:4: i: 7 is not between 8 and 10");
}

TEST(Yaml, RefusesAliasesDepthSizeDuplicatesAndNonsense) {
  EXPECT_FALSE(yaml::Parse("a: &x 1\nb: *x\n", "f").ok());
  EXPECT_FALSE(yaml::Parse(std::string(40, '['), "f").ok());
  EXPECT_FALSE(yaml::Parse(std::string(yaml::kMaxBytes + 1, ' '), "f").ok());
  EXPECT_FALSE(yaml::Parse("a: 1\na: 2\n", "f")->Map().ok());
  EXPECT_NE(Message(yaml::Parse("a: [1\n", "f").status()).find("f:"), std::string::npos);
  EXPECT_FALSE(yaml::Parse(std::string("a: \0", 4), "f").ok());
  EXPECT_FALSE(yaml::Parse("a: 1\n---\nb: 2\n", "f").ok());
}

TEST(Yaml, AnEmptyDocumentIsNull) {
  EXPECT_TRUE(yaml::Parse("", "f")->IsNull());
  EXPECT_TRUE(yaml::Parse("# nothing\n", "f")->IsNull());
}

TEST(Quantity, NeedsItsUnit) {
  EXPECT_FALSE(ParseDurationNs("12").ok());
  EXPECT_FALSE(ParseBytes("3 parsecs").ok());
  EXPECT_FALSE(ParseBytes("-1Gi").ok());
  EXPECT_FALSE(ParseBytes("99999999T").ok());
  EXPECT_FALSE(ParseDurationNs("1.2.3s").ok());
  EXPECT_EQ(*ParseMilliwatts("1.5kW"), 1'500'000);
  EXPECT_EQ(*ParseDurationNs("250ms"), 250'000'000);
}

TEST(Quantity, SuggestsOnlyWhatIsNear) {
  EXPECT_EQ(Suggest("comand", {"train", "command"}), "command");
  EXPECT_EQ(Suggest("zebra", {"train", "command"}), "");
}

}  // namespace
}  // namespace sinew
