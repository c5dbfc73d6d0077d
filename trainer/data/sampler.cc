// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/sampler.h"

#include <numeric>
#include <utility>

#include "trainer/data/random.h"

namespace sinew::trainer {

int64_t StepsPerEpoch(int64_t samples, int workers, int batch_size) {
  const int64_t most = (samples + workers - 1) / workers;
  return (most + batch_size - 1) / batch_size;
}

std::vector<int64_t> DealEpoch(uint64_t seed, int64_t epoch, int64_t samples, int rank, int workers) {
  std::vector<int64_t> all(static_cast<std::size_t>(samples));
  std::iota(all.begin(), all.end(), 0);
  // Stream 0 is the model's first weights.
  Random random(seed, static_cast<uint64_t>(epoch) + 1);
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.Below(i)]);
  std::vector<int64_t> mine;
  mine.reserve(all.size() / static_cast<std::size_t>(workers) + 1);
  for (std::size_t i = static_cast<std::size_t>(rank); i < all.size(); i += static_cast<std::size_t>(workers)) {
    mine.push_back(all[i]);
  }
  return mine;
}

}  // namespace sinew::trainer
