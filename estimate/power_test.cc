// SPDX-License-Identifier: Apache-2.0
#include "estimate/power.h"

#include <gtest/gtest.h>

namespace sinew {
namespace {

TEST(Power, AddsDevicesAtTheirMaximumAndTheShareOfTheNode) {
  Node node;
  node.cpus = {8000};
  node.idle_power = {50'000};
  node.max_power = {90'000};
  node.devices = {{.index = 0, .max_power = {30'000}}, {.index = 1, .max_power = {70'000}}};
  Task task;
  task.devices = {1};
  task.cpus = {2000};
  EXPECT_EQ(TaskPower(node, task).value, 80'000);
  EXPECT_EQ(TaskEnergy(node, task, 2'500'000'000).value, 200'000);
  EXPECT_EQ(TaskEnergy(node, task, -5).value, 0);
}

TEST(Power, AYearOfALargeNodeDoesNotOverflow) {
  Node node;
  node.devices = {{.index = 0, .max_power = {1'000'000'000}}};
  Task task;
  task.devices = {0};
  EXPECT_EQ(TaskEnergy(node, task, 31'536'000'000'000'000).value, 31'536'000'000'000'000);
}

}  // namespace
}  // namespace sinew
