// SPDX-License-Identifier: Apache-2.0
#include "policies/place/fit.h"

#include <gtest/gtest.h>

namespace sinew {
namespace {

NodePtr MakeNode(uint32_t id, std::vector<int> islands, int64_t cpus = 16'000, const std::string& type = "v100") {
  auto node = std::make_shared<Node>();
  node->id = {id};
  node->name = "n" + std::to_string(id);
  node->cpus = {cpus};
  node->memory = {64LL << 30};
  for (size_t i = 0; i < islands.size(); ++i) {
    node->devices.push_back({.index = static_cast<int32_t>(i), .type = type, .island = islands[i]});
  }
  return node;
}

std::vector<Room> Rooms(std::vector<NodePtr> nodes) {
  std::vector<Room> rooms;
  for (auto& n : nodes) rooms.push_back(EmptyRoom(n));
  return rooms;
}

JobSpec Spec(int devices, const std::string& type = "") {
  JobSpec spec;
  spec.pools = {"default"};
  spec.demand.cpus = {1000};
  if (devices > 0) spec.demand.devices = {{type, devices}};
  return spec;
}

std::vector<uint32_t> NodesOf(const Fitted& fitted) {
  std::vector<uint32_t> nodes;
  for (const auto& t : fitted.tasks) nodes.push_back(t.node.value);
  return nodes;
}

TEST(Fit, PackTakesTheNodeThatIsLeftFullest) {
  auto rooms = Rooms({MakeNode(0, {0, 0, 0, 0}), MakeNode(1, {0, 0})});
  auto fitted = Fit(rooms, Spec(1), 2, Preference::kPack);
  ASSERT_TRUE(fitted);
  EXPECT_EQ(NodesOf(*fitted), (std::vector<uint32_t>{1, 1}));
  EXPECT_TRUE(rooms[1].devices.empty());
}

TEST(Fit, PackUsesFewNodesWhenOneIsNotEnough) {
  auto rooms = Rooms({MakeNode(0, {0}), MakeNode(1, {0, 0}), MakeNode(2, {0})});
  auto fitted = Fit(rooms, Spec(1), 3, Preference::kPack);
  ASSERT_TRUE(fitted);
  EXPECT_EQ(NodesOf(*fitted), (std::vector<uint32_t>{0, 1, 1}));
}

TEST(Fit, SpreadUsesManyNodes) {
  auto rooms = Rooms({MakeNode(0, {0, 0}), MakeNode(1, {0, 0})});
  auto fitted = Fit(rooms, Spec(1), 2, Preference::kSpread);
  ASSERT_TRUE(fitted);
  EXPECT_EQ(NodesOf(*fitted), (std::vector<uint32_t>{0, 1}));
}

TEST(Fit, AGangFitsWholeOrTakesNothing) {
  auto rooms = Rooms({MakeNode(0, {0, 0})});
  EXPECT_FALSE(Fit(rooms, Spec(1), 3, Preference::kPack));
  EXPECT_EQ(rooms[0].devices.size(), 2u);
  EXPECT_EQ(rooms[0].cpus.value, 16'000);
}

TEST(Fit, DevicesOfOneWorkerComeFromOneIsland) {
  auto rooms = Rooms({MakeNode(0, {0, 1, 1, 0, 1})});
  auto fitted = Fit(rooms, Spec(2), 1, Preference::kPack);
  ASSERT_TRUE(fitted);
  EXPECT_EQ(fitted->tasks[0].devices, (std::vector<int32_t>{0, 3}));
}

TEST(Fit, ColocationIsKept) {
  auto spec = Spec(1);
  spec.colocation = Colocation::kOneNode;
  auto rooms = Rooms({MakeNode(0, {0, 0}), MakeNode(1, {0, 0})});
  EXPECT_FALSE(Fit(rooms, spec, 3, Preference::kPack));
  spec.colocation = Colocation::kDistinctNodes;
  EXPECT_FALSE(Fit(rooms, spec, 3, Preference::kPack));
  auto fitted = Fit(rooms, spec, 2, Preference::kPack);
  ASSERT_TRUE(fitted);
  EXPECT_EQ(NodesOf(*fitted), (std::vector<uint32_t>{0, 1}));
}

TEST(Fit, AlternativesAreTriedInOrder) {
  auto spec = Spec(0);
  spec.demand.devices = {{"h100", 1}, {"v100", 2}};
  auto rooms = Rooms({MakeNode(0, {0, 0})});
  auto fitted = Fit(rooms, spec, 1, Preference::kPack);
  ASSERT_TRUE(fitted);
  EXPECT_EQ(fitted->device_alternative, 1u);
  EXPECT_EQ(fitted->tasks[0].devices.size(), 2u);
}

TEST(Fit, WhyNotNamesEveryLackWithItsNumbers) {
  auto spec = Spec(1, "v100");
  spec.demand.cpus = {10'000};
  auto rooms = Rooms({MakeNode(0, {0, 0}), MakeNode(1, {0})});
  const auto reasons = WhyNot(rooms, spec, 4);
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_EQ(reasons[0].code, ReasonCode::kInsufficientDevices);
  EXPECT_EQ(reasons[0].needed, 4);
  EXPECT_EQ(reasons[0].total_free, 3);
  EXPECT_EQ(reasons[0].best_node_free, 2);
  EXPECT_EQ(reasons[1].code, ReasonCode::kInsufficientCpus);
  EXPECT_EQ(reasons[1].needed, 40'000);
}

}  // namespace
}  // namespace sinew
