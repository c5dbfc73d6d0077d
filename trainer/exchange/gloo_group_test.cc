// SPDX-License-Identifier: Apache-2.0
#include "trainer/exchange/gloo_group.h"

#include <gtest/gtest.h>

#include <barrier>
#include <mutex>
#include <numeric>
#include <thread>

namespace sinew::trainer {
namespace {

// Threads meet as ranks do over the task runtime: everyone gets the union once everyone has set.
class Meeting {
 public:
  explicit Meeting(int size) : barrier_(size) {}

  absl::StatusOr<std::map<std::string, std::string>> Join(std::map<std::string, std::string> mine) {
    {
      std::lock_guard lock(mutex_);
      most_ = std::max(most_, mine.size());
      for (auto& [key, value] : mine) EXPECT_TRUE(all_.emplace(key, value).second) << "set by two ranks: " << key;
    }
    barrier_.arrive_and_wait();
    return all_;
  }
  size_t most() const { return most_; }

 private:
  std::barrier<> barrier_;
  std::mutex mutex_;
  std::map<std::string, std::string> all_;
  size_t most_ = 0;
};

template <typename Body>
void OnRanks(int size, const Body& body) {
  Meeting meeting(size);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      auto group = JoinGloo({.rank = rank, .size = size, .timeout_s = 20},
                            [&](std::map<std::string, std::string> mine) { return meeting.Join(std::move(mine)); });
      ASSERT_TRUE(group.ok()) << group.status();
      body(**group);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_GE(meeting.most(), 1u);
}

TEST(GlooGroup, GathersInTheOrderOfRanks) {
  for (const int size : {1, 2, 3, 5}) {
    OnRanks(size, [&](Group& group) {
      EXPECT_EQ(group.size(), size);
      for (const size_t n : {size_t{1}, size_t{1000}, size_t{300'001}}) {
        std::vector<float> mine(n), all(n * static_cast<size_t>(size));
        std::iota(mine.begin(), mine.end(), static_cast<float>(group.rank()) * 0.25f);
        ASSERT_TRUE(group.AllGather(mine, all).ok());
        for (int r = 0; r < size; ++r) {
          for (size_t i = 0; i < n; i += 997) {
            ASSERT_EQ(all[static_cast<size_t>(r) * n + i], static_cast<float>(r) * 0.25f + static_cast<float>(i));
          }
        }
      }
    });
  }
}

TEST(GlooGroup, SaysThatAPeerIsGone) {
  OnRanks(3, [&](Group& group) {
    std::vector<float> mine(100'000, 1), all(300'000);
    ASSERT_TRUE(group.AllGather(mine, all).ok());
    if (group.rank() == 1) return;  // leaves the group
    const absl::Status lost = group.AllGather(mine, all);
    EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable) << lost;
  });
}

TEST(GlooGroup, SaysThatTheRanksDidNotMeet) {
  const auto group = JoinGloo({.rank = 0, .size = 2},
                              [](auto) { return absl::DeadlineExceededError("rank 1 did not come in 5 s"); });
  EXPECT_EQ(group.status().message(), "the workers did not come together: rank 1 did not come in 5 s");
}

}  // namespace
}  // namespace sinew::trainer
