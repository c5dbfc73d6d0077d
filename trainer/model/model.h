// SPDX-License-Identifier: Apache-2.0
// A network that is trained: a function of one packed flat buffer of parameters.
//
// Threads: one object belongs to one thread at a time (it holds the activations); the BLAS may use more below it.
// Results have the same bits for the same input on the same machine with the same number of BLAS threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace sinew::trainer {

struct Score {
  double loss_sum = 0;  // cross entropy in nats, summed over the samples
  int64_t correct = 0;
};

class Model {
 public:
  virtual ~Model() = default;

  virtual std::size_t parameters() const = 0;
  virtual int rows() const = 0;     // of one image
  virtual int columns() const = 0;
  virtual int classes() const = 0;  // labels are 0 .. classes - 1

  // The same bits for the same seed everywhere.
  virtual void Initialise(uint64_t seed, std::span<float> x) const = 0;

  // images: labels.size() x rows x columns, normalised; at least one. gradient: of the mean loss, overwritten.
  virtual Score Gradient(std::span<const float> x, std::span<const float> images,
                         std::span<const uint8_t> labels, std::span<float> gradient) = 0;

  virtual Score Evaluate(std::span<const float> x, std::span<const float> images,
                         std::span<const uint8_t> labels) = 0;
};

// INVALID_ARGUMENT for a name that is not known, with those that are.
absl::StatusOr<std::unique_ptr<Model>> MakeModel(const std::string& name);

}  // namespace sinew::trainer
