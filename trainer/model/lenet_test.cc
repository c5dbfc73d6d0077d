// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/lenet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trainer/data/random.h"

namespace sinew::trainer {
namespace {

struct Batch {
  std::vector<float> images;
  std::vector<uint8_t> labels;
};

Batch MakeBatch(int n, uint64_t seed) {
  Random random(seed);
  Batch batch;
  for (int i = 0; i < n * 784; ++i) batch.images.push_back(static_cast<float>(2 * random.Unit() - 1));
  for (int i = 0; i < n; ++i) batch.labels.push_back(static_cast<uint8_t>(random.Below(10)));
  return batch;
}

std::vector<float> Weights(uint64_t seed) {
  std::vector<float> x(LeNet::kParameters);
  LeNet().Initialise(seed, x);
  return x;
}

std::vector<const ConvKernels*> Kernels() {
  std::vector<const ConvKernels*> all = {&kConvKernelsBase};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&kConvKernelsAvx2);
  if (&ChooseConvKernels() == &kConvKernelsAvx512) all.push_back(&kConvKernelsAvx512);
  return all;
}

TEST(LeNet, GradientAgreesWithFiniteDifferences) {
  const Batch batch = MakeBatch(3, 1);
  const std::vector<float> x = Weights(2);
  for (const ConvKernels* kernels : Kernels()) {
    LeNet net(*kernels);
    std::vector<float> gradient(x.size());
    net.Gradient(x, batch.images, batch.labels, gradient);
    const auto loss = [&](const std::vector<float>& at) {
      return net.Evaluate(at, batch.images, batch.labels).loss_sum / 3;
    };
    // Along each tensor's own gradient: a directional derivative is large there, and sums the whole tensor.
    const std::vector<std::pair<std::size_t, std::size_t>> tensors = {
        {0, 500}, {500, 520}, {520, 25'520}, {25'520, 25'570}, {25'570, 425'570}, {425'570, 426'070},
        {426'070, 431'070}, {431'070, 431'080}};
    for (const auto& [begin, end] : tensors) {
      double square = 0;
      for (std::size_t i = begin; i < end; ++i) square += double{gradient[i]} * gradient[i];
      ASSERT_GT(square, 0);
      const double h = 2e-3 / std::sqrt(square);
      std::vector<float> up = x, down = x;
      for (std::size_t i = begin; i < end; ++i) {
        up[i] += static_cast<float>(h * gradient[i]);
        down[i] -= static_cast<float>(h * gradient[i]);
      }
      EXPECT_NEAR((loss(up) - loss(down)) / (2 * h) / square, 1, 0.02) << "tensor at " << begin;
    }
    // And single elements, spread over the buffer.
    for (std::size_t i = 3; i < x.size(); i += 40'009) {
      std::vector<float> up = x, down = x;
      up[i] += 5e-3f;
      down[i] -= 5e-3f;
      const double slope = (loss(up) - loss(down)) / (double{up[i]} - down[i]);
      EXPECT_NEAR(slope, gradient[i], 2e-4 + 0.03 * std::abs(gradient[i])) << "element " << i;
    }
  }
}

TEST(LeNet, EveryKindOfKernelGivesTheSameGradientUpToRounding) {
  const Batch batch = MakeBatch(7, 3);
  const std::vector<float> x = Weights(4);
  std::vector<float> expected(x.size());
  LeNet(kConvKernelsBase).Gradient(x, batch.images, batch.labels, expected);
  for (const ConvKernels* kernels : Kernels()) {
    std::vector<float> gradient(x.size());
    LeNet(*kernels).Gradient(x, batch.images, batch.labels, gradient);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(gradient[i], expected[i], 1e-5) << i;
  }
}

TEST(LeNet, GivesTheSameBitsTwiceAndAfterALargerBatch) {
  const Batch batch = MakeBatch(5, 5), larger = MakeBatch(9, 6);
  const std::vector<float> x = Weights(7);
  LeNet net;
  std::vector<float> first(x.size()), second(x.size());
  net.Gradient(x, batch.images, batch.labels, first);
  net.Gradient(x, larger.images, larger.labels, second);
  net.Gradient(x, batch.images, batch.labels, second);
  EXPECT_EQ(first, second);
}

TEST(LeNet, StartsFromTheSameWeightsForTheSameSeedOnly) {
  EXPECT_EQ(Weights(1), Weights(1));
  EXPECT_NE(Weights(1), Weights(2));
}

TEST(LeNet, LearnsASmallBatchByHeart) {
  const Batch batch = MakeBatch(10, 8);
  std::vector<float> x = Weights(9), gradient(x.size());
  LeNet net;
  const double before = net.Evaluate(x, batch.images, batch.labels).loss_sum;
  for (int step = 0; step < 60; ++step) {
    net.Gradient(x, batch.images, batch.labels, gradient);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= 0.1f * gradient[i];
  }
  const Score after = net.Evaluate(x, batch.images, batch.labels);
  EXPECT_LT(after.loss_sum, before / 4);
  EXPECT_EQ(after.correct, 10);
}

TEST(Models, NamesThoseThatAreKnown) {
  EXPECT_TRUE(MakeModel("lenet").ok());
  const auto other = MakeModel("lenett");
  EXPECT_EQ(other.status().message(), "model \"lenett\" is not known; known are: lenet");
}

}  // namespace
}  // namespace sinew::trainer
