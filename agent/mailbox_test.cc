// SPDX-License-Identifier: Apache-2.0
#include "agent/mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sinew::agent {
namespace {

TEST(Mailbox, WorkIsDoneInOrderOnTheLoop) {
  Mailbox box;
  std::vector<int> done;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(box.Post([&done, i] { done.push_back(i); }));
  EXPECT_TRUE(done.empty());
  box.Run();
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2}));
}

TEST(Mailbox, CallWaitsForTheLoop) {
  Mailbox box;
  std::atomic<bool> over{false};
  int value = 0;
  std::thread caller([&] {
    EXPECT_TRUE(box.Call([&] { value = 7; }));
    over = true;
  });
  while (!over) box.Run();
  caller.join();
  EXPECT_EQ(value, 7);
}

TEST(Mailbox, ClosingLetsEverybodyGo) {
  Mailbox box;
  std::thread waiting([&] { EXPECT_FALSE(box.Call([] { FAIL() << "must not run"; })); });
  for (size_t i = 0; i + 1 < Mailbox::kLimit; ++i) box.Post([] {});
  std::thread full([&] {
    while (box.Post([] {})) {
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  box.Close();
  waiting.join();
  full.join();
  EXPECT_FALSE(box.Post([] {}));
}

}  // namespace
}  // namespace sinew::agent
