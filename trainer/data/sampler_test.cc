// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sinew::trainer {
namespace {

TEST(Sampler, UsesEachSampleExactlyOnceAnEpochAtAnyWorkerCount) {
  for (const int64_t samples : {1, 2, 7, 64, 1000}) {
    for (const int workers : {1, 2, 3, 4, 7, 16}) {
      for (const int64_t epoch : {0, 1, 5}) {
        std::vector<int64_t> seen;
        std::size_t most = 0;
        for (int rank = 0; rank < workers; ++rank) {
          const auto mine = DealEpoch(3, epoch, samples, rank, workers);
          most = std::max(most, mine.size());
          seen.insert(seen.end(), mine.begin(), mine.end());
        }
        std::sort(seen.begin(), seen.end());
        ASSERT_EQ(seen.size(), static_cast<std::size_t>(samples));
        for (int64_t i = 0; i < samples; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], i);
        for (const int batch : {1, 3, 64}) {
          const int64_t steps = StepsPerEpoch(samples, workers, batch);
          ASSERT_GE(steps * batch, static_cast<int64_t>(most));
          ASSERT_LT((steps - 1) * batch, static_cast<int64_t>(most));
        }
      }
    }
  }
}

TEST(Sampler, OrdersDifferByEpochAndSeedAndComeAgain) {
  EXPECT_EQ(DealEpoch(1, 0, 500, 1, 4), DealEpoch(1, 0, 500, 1, 4));
  EXPECT_NE(DealEpoch(1, 0, 500, 1, 4), DealEpoch(1, 1, 500, 1, 4));
  EXPECT_NE(DealEpoch(1, 0, 500, 1, 4), DealEpoch(2, 0, 500, 1, 4));
}

TEST(Sampler, PermutesFairly) {
  // The first of five samples over 5,000 epochs: each about 1,000 times; five sigma are 142.
  int count[5] = {};
  for (int64_t epoch = 0; epoch < 5000; ++epoch) ++count[DealEpoch(9, epoch, 5, 0, 5)[0]];
  for (const int c : count) EXPECT_NEAR(c, 1000, 142);
}

}  // namespace
}  // namespace sinew::trainer
