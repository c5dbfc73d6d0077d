// SPDX-License-Identifier: Apache-2.0
#include "trainer/algorithm/easgd.h"

namespace sinew::trainer {

void LocalStep(StepSize step, std::span<const float> g, std::span<float> v, std::span<float> x) {
  const float* __restrict grad = g.data();
  float* __restrict velocity = v.data();
  float* __restrict weights = x.data();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float next = step.momentum * velocity[i] - step.learning_rate * grad[i];
    velocity[i] = next;
    weights[i] += next;
  }
}

void ElasticStep(StepSize step, float alpha, std::span<const float> g, std::span<const float> center,
                 std::span<float> v, std::span<float> x) {
  const float* __restrict grad = g.data();
  const float* __restrict middle = center.data();
  float* __restrict velocity = v.data();
  float* __restrict weights = x.data();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float next = step.momentum * velocity[i] - step.learning_rate * grad[i];
    const float pull = alpha * (weights[i] - middle[i]);
    velocity[i] = next;
    weights[i] = weights[i] + next - pull;
  }
}

void ElasticPull(float alpha, std::span<const float> center, std::span<float> x) {
  const float* __restrict middle = center.data();
  float* __restrict weights = x.data();
  for (std::size_t i = 0; i < x.size(); ++i) weights[i] -= alpha * (weights[i] - middle[i]);
}

void CenterStep(float alpha, std::span<const std::span<const float>> all_x, std::span<float> center) {
  const std::size_t n = center.size();
  // Blocks keep a part of the center in the first-level cache while the ranks are added to it.
  constexpr std::size_t kBlock = 1024;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t count = n - begin < kBlock ? n - begin : kBlock;
    float* __restrict middle = center.data() + begin;
    float sum[kBlock];
    for (std::size_t i = 0; i < count; ++i) sum[i] = 0;
    for (const std::span<const float> of_rank : all_x) {
      const float* __restrict x = of_rank.data() + begin;
      for (std::size_t i = 0; i < count; ++i) sum[i] += x[i] - middle[i];
    }
    for (std::size_t i = 0; i < count; ++i) middle[i] += alpha * sum[i];
  }
}

}  // namespace sinew::trainer
