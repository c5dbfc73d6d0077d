// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/lenet.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "trainer/data/random.h"

namespace sinew::trainer {
namespace {

constexpr int kImage = 28 * 28, kOut1 = 12 * 12 * 20, kOut2 = 4 * 4 * 50, kPatch = 500, kHidden = 500, kClasses = 10;
constexpr int kC1 = 20, kC2 = 50, kTaps = 25, kPad1 = 24;
// Images whose patches are multiplied at once: 64 * 500 floats each, so that four stay in a second-level cache.
constexpr int kGroup = 4;
// Where each tensor begins in the packed buffer.
constexpr std::size_t kW1 = 0, kB1 = kW1 + kC1 * kTaps, kW2 = kB1 + kC1, kB2 = kW2 + kC2 * kPatch, kW3 = kB2 + kC2,
                      kB3 = kW3 + kHidden * kOut2, kW4 = kB3 + kHidden, kB4 = kW4 + kClasses * kHidden;
static_assert(kB4 + kClasses == LeNet::kParameters);

// c[m][n] = a * b, or += with accumulate; transposed as said; all dense and row after row.
void Multiply(bool ta, bool tb, int m, int n, int k, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, 1.0f, a,
              ta ? m : k, b, tb ? k : n, 0.0f, c, n);
}

void SumRows(const float* in, int rows, int columns, float* out) {
  std::fill_n(out, columns, 0.0f);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) out[c] += in[r * columns + c];
  }
}

}  // namespace

void LeNet::Initialise(uint64_t seed, std::span<float> x) const {
  Random random(seed);
  const auto fill = [&](std::size_t begin, std::size_t end, int inputs) {
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    for (std::size_t i = begin; i < end; ++i) x[i] = static_cast<float>((2 * random.Unit() - 1) * bound);
  };
  fill(kW1, kW2, kTaps);
  fill(kW2, kW3, kPatch);
  fill(kW3, kW4, kOut2);
  fill(kW4, kParameters, kHidden);
}

void LeNet::Reserve(int n) {
  if (n <= capacity_) return;
  first_weights_.assign(kTaps * kPad1 + kPad1, 0);
  d_first_.resize(kC1 * 32);
  patches_.resize(std::size_t{kGroup} * 64 * kPatch);
  second_.resize(std::size_t{kGroup} * 64 * kC2);
  const std::size_t count = static_cast<std::size_t>(n);
  out1_.resize(count * kOut1);
  which1_.resize(count * kOut1);
  out2_.resize(count * kOut2);
  which2_.resize(count * kOut2);
  hidden_.resize(count * kHidden);
  logits_.resize(count * kClasses);
  d_out1_.resize(kOut1);
  d_out2_.resize(count * kOut2);
  d_hidden_.resize(count * kHidden);
  capacity_ = n;
}

Score LeNet::Forward(const float* x, const float* images, const uint8_t* labels, int n) {
  Reserve(n);
  float* bias1 = first_weights_.data() + kTaps * kPad1;
  for (int c = 0; c < kC1; ++c) {
    for (int k = 0; k < kTaps; ++k) first_weights_[k * kPad1 + c] = x[kW1 + c * kTaps + k];
    bias1[c] = x[kB1 + c];
  }
  for (int begin = 0; begin < n; begin += kGroup) {
    const int group = std::min(kGroup, n - begin);
    for (int i = 0; i < group; ++i) {
      const std::size_t at = begin + i;
      float* out1 = out1_.data() + at * kOut1;
      kernels_.first_forward(images + at * kImage, first_weights_.data(), bias1, out1, which1_.data() + at * kOut1);
      kernels_.patches(out1, patches_.data() + std::size_t(i) * 64 * kPatch);
    }
    Multiply(false, true, group * 64, kC2, kPatch, patches_.data(), x + kW2, second_.data());
    for (int i = 0; i < group; ++i) {
      const std::size_t at = begin + i;
      kernels_.second_pool(second_.data() + std::size_t(i) * 64 * kC2, x + kB2, out2_.data() + at * kOut2,
                           which2_.data() + at * kOut2);
    }
  }
  Multiply(false, true, n, kHidden, kOut2, out2_.data(), x + kW3, hidden_.data());
  for (int i = 0; i < n; ++i) {
    float* h = hidden_.data() + std::size_t(i) * kHidden;
    for (int k = 0; k < kHidden; ++k) h[k] = std::max(h[k] + x[kB3 + k], 0.0f);
  }
  Multiply(false, true, n, kClasses, kHidden, hidden_.data(), x + kW4, logits_.data());

  Score score;
  for (int i = 0; i < n; ++i) {
    float* z = logits_.data() + std::size_t(i) * kClasses;
    for (int k = 0; k < kClasses; ++k) z[k] += x[kB4 + k];
    const int best = static_cast<int>(std::max_element(z, z + kClasses) - z);
    const float top = z[best];
    const int label = labels[i];
    score.correct += best == label;
    const float of_label = z[label] - top;
    float sum = 0;
    for (int k = 0; k < kClasses; ++k) sum += z[k] = std::exp(z[k] - top);
    for (int k = 0; k < kClasses; ++k) z[k] /= sum;
    z[label] -= 1;
    score.loss_sum += std::log(static_cast<double>(sum)) - of_label;
  }
  return score;
}

Score LeNet::Gradient(std::span<const float> x, std::span<const float> images, std::span<const uint8_t> labels,
                      std::span<float> gradient) {
  const int n = static_cast<int>(labels.size());
  const float* w = x.data();
  float* g = gradient.data();
  const Score score = Forward(w, images.data(), labels.data(), n);

  for (int i = 0; i < n * kClasses; ++i) logits_[i] /= static_cast<float>(n);
  Multiply(true, false, kClasses, kHidden, n, logits_.data(), hidden_.data(), g + kW4);
  SumRows(logits_.data(), n, kClasses, g + kB4);
  Multiply(false, false, n, kHidden, kClasses, logits_.data(), w + kW4, d_hidden_.data());
  for (int i = 0; i < n * kHidden; ++i) d_hidden_[i] = hidden_[i] > 0 ? d_hidden_[i] : 0.0f;
  Multiply(true, false, kHidden, kOut2, n, d_hidden_.data(), out2_.data(), g + kW3);
  SumRows(d_hidden_.data(), n, kHidden, g + kB3);
  Multiply(false, false, n, kOut2, kHidden, d_hidden_.data(), w + kW3, d_out2_.data());

  std::fill(g + kW1, g + kW3, 0.0f);
  std::fill(d_first_.begin(), d_first_.end(), 0.0f);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    kernels_.second_backward(d_out2_.data() + i * kOut2, out2_.data() + i * kOut2, which2_.data() + i * kOut2,
                             out1_.data() + i * kOut1, w + kW2, d_out1_.data(), g + kW2, g + kB2);
    kernels_.first_backward(d_out1_.data(), out1_.data() + i * kOut1, which1_.data() + i * kOut1,
                            images.data() + i * kImage, d_first_.data(), g + kB1);
  }
  for (int c = 0; c < kC1; ++c) {
    std::copy_n(d_first_.data() + c * 32, kTaps, g + kW1 + c * kTaps);
  }
  return score;
}

Score LeNet::Evaluate(std::span<const float> x, std::span<const float> images, std::span<const uint8_t> labels) {
  return Forward(x.data(), images.data(), labels.data(), static_cast<int>(labels.size()));
}

absl::StatusOr<std::unique_ptr<Model>> MakeModel(const std::string& name) {
  if (name == "lenet") return std::make_unique<LeNet>();
  return absl::InvalidArgumentError("model \"" + name + "\" is not known; known are: lenet");
}

}  // namespace sinew::trainer
