// SPDX-License-Identifier: Apache-2.0
#include "trainer/algorithm/easgd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace sinew::trainer {
namespace {

using Row = std::vector<float>;  // x_1 .. x_p, c

// The center's step over workers that lie one after another in `all`.
void StepCenter(float alpha, const std::vector<float>& all, std::vector<float>& c) {
  std::vector<std::span<const float>> workers;
  for (std::size_t at = 0; at < all.size(); at += c.size()) workers.push_back(std::span(all).subspan(at, c.size()));
  CenterStep(alpha, workers, c);
}

// p workers on f_i = (x - b_i)^2 / 2, all from `start`, one parameter each.
std::vector<Row> Descend(const std::vector<float>& b, StepSize step, float alpha, float start, int steps) {
  std::vector<float> x(b.size(), start), v(b.size(), 0), c = {start};
  std::vector<Row> rows;
  for (int t = 0; t < steps; ++t) {
    const std::vector<float> old = x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float g = old[i] - b[i];
      ElasticStep(step, alpha, {&g, 1}, c, {&v[i], 1}, {&x[i], 1});
    }
    StepCenter(alpha, old, c);
    Row row = x;
    row.push_back(c[0]);
    rows.push_back(row);
  }
  return rows;
}

TEST(SyncEasgd, ReproducesTheHandComputedSteps) {
  const auto rows = Descend({0, 4}, {0.25f, 0}, 0.125f, 1, 3);
  EXPECT_EQ(rows[0], (Row{3.f / 4, 7.f / 4, 1}));
  EXPECT_EQ(rows[1], (Row{19.f / 32, 71.f / 32, 17.f / 16}));
  EXPECT_EQ(rows[2], (Row{129.f / 256, 645.f / 256, 147.f / 128}));
}

TEST(SyncMeasgd, ReproducesTheHandComputedSteps) {
  const auto rows = Descend({0, 4}, {0.25f, 0.5f}, 0.125f, 1, 2);
  EXPECT_EQ(rows[0], (Row{3.f / 4, 7.f / 4, 1}));
  EXPECT_EQ(rows[1], (Row{15.f / 32, 83.f / 32, 17.f / 16}));
}

TEST(SyncEasgd, ComesToTheFixedPointOfTheQuadratics) {
  const Row last = Descend({0, 4}, {0.25f, 0}, 0.125f, 1, 400).back();
  EXPECT_NEAR(last[0], 2.0 / 3, 1e-6);
  EXPECT_NEAR(last[1], 10.0 / 3, 1e-6);
  EXPECT_NEAR(last[2], 2.0, 1e-6);
}

TEST(SyncEasgd, MovesTheCenterByWhatItTakesFromTheWorkers) {
  // Multiples of 2^-8 below 4, and alpha = 1/8: every value is exact, so the sums must be equal.
  std::mt19937 rng(7);
  constexpr int kWorkers = 5, kParameters = 1500;
  std::vector<float> x(kWorkers * kParameters), c(kParameters), zero(kParameters, 0);
  for (float& one : x) one = static_cast<float>(rng() % 1024) / 256;
  for (float& one : c) one = static_cast<float>(rng() % 1024) / 256;
  const auto total = [&] { return std::accumulate(x.begin(), x.end(), 0.0) + std::accumulate(c.begin(), c.end(), 0.0); };
  const double before = total();
  const std::vector<float> old = x;
  for (int r = 0; r < kWorkers; ++r) {
    std::vector<float> v(kParameters, 0);
    ElasticStep({0.5f, 0.5f}, 0.125f, zero, c, v, std::span(x).subspan(r * kParameters, kParameters));
  }
  StepCenter(0.125f, old, c);
  EXPECT_EQ(total(), before);
}

TEST(SyncEasgd, AWorkerWithoutSamplesIsPulledAsOneWithAZeroGradientIs) {
  const std::vector<float> c = {1, -2, 3}, zero(3, 0);
  std::vector<float> pulled = {4, 5, -6}, stepped = pulled, v(3, 0);
  ElasticPull(0.225f, c, pulled);
  ElasticStep({0.1f, 0}, 0.225f, zero, c, v, stepped);
  EXPECT_EQ(pulled, stepped);
}

TEST(SyncEasgd, BringsMeanAndCenterTogetherInOneStepAtAlphaOneOverWorkersPlusOne) {
  std::vector<float> x = {1, 5, 9}, c = {2}, old = x;
  for (float& one : x) ElasticPull(0.25f, c, {&one, 1});
  StepCenter(0.25f, old, c);
  EXPECT_EQ((x[0] + x[1] + x[2]) / 3, c[0]);
}

TEST(SyncEasgd, StaysStableWhenWorkersJoinAtTheSameBeta) {
  for (const int p : {2, 4, 16}) {
    std::vector<float> b(p, 1);
    const Row last = Descend(b, {0.1f, 0}, static_cast<float>(MovingRate(0.9, p)), 0, 2000).back();
    for (const float x : last) EXPECT_NEAR(x, 1, 1e-3) << p;
  }
  // The same alpha for 4 workers as for 2: above the bound, and it must show.
  EXPECT_GT(std::abs(Descend({1, 1, 1, 1}, {0.1f, 0}, 0.45f, 0, 200).back()[4]), 1e3);
}

TEST(LocalStep, IsTheHeavyBall) {
  std::vector<float> x = {1}, v = {0.5f};
  const std::vector<float> g = {2};
  LocalStep({0.25f, 0.5f}, g, v, x);
  EXPECT_EQ(v[0], -0.25f);
  EXPECT_EQ(x[0], 0.75f);
}

}  // namespace
}  // namespace sinew::trainer
