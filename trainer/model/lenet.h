// SPDX-License-Identifier: Apache-2.0
// LeNet in Caffe's form (LeCun et al., "Gradient-based learning applied to document recognition", 1998, with 20 and 50
// kernels and max-pooling): 28x28 -> conv 5x5 to 20 -> pool 2 -> ReLU -> conv 5x5 to 50 -> pool 2 -> ReLU -> 500 ->
// ReLU -> 10 -> softmax cross entropy. 431,080 parameters.
//
// Packed order, each weight as [output][kernel row][kernel column][input]: conv1 weight 20x5x5x1, bias 20; conv2 weight
// 50x5x5x20, bias 50; fc1 weight 500x(4x4x50), bias 500; fc2 weight 10x500, bias 10.
//
// The first convolution and the backward passes of both are loops of our own (conv_kernels.h); the second convolution
// and the dense layers are matrix products of the BLAS.
#pragma once

#include <vector>

#include "trainer/model/conv_kernels.h"
#include "trainer/model/model.h"

namespace sinew::trainer {

class LeNet final : public Model {
 public:
  static constexpr std::size_t kParameters = 431'080;

  explicit LeNet(const ConvKernels& kernels = ChooseConvKernels()) : kernels_(kernels) {}

  std::size_t parameters() const override { return kParameters; }
  int rows() const override { return 28; }
  int columns() const override { return 28; }
  int classes() const override { return 10; }
  // Uniform in +-1/sqrt(inputs of a neuron), weights and biases.
  void Initialise(uint64_t seed, std::span<float> x) const override;
  Score Gradient(std::span<const float> x, std::span<const float> images, std::span<const uint8_t> labels,
                 std::span<float> gradient) override;
  Score Evaluate(std::span<const float> x, std::span<const float> images, std::span<const uint8_t> labels) override;

 private:
  // Leaves the activations in the buffers, and the softmax minus the one-hot labels in logits_.
  Score Forward(const float* x, const float* images, const uint8_t* labels, int n);
  void Reserve(int n);

  const ConvKernels& kernels_;
  int capacity_ = 0;                            // in images
  std::vector<float> first_weights_;            // [25][24]
  std::vector<float> patches_, second_;         // of a few images: the second convolution's input and output
  std::vector<float> out1_, out2_, hidden_, logits_;
  std::vector<uint8_t> which1_, which2_;
  std::vector<float> d_out1_, d_out2_, d_hidden_, d_first_;
};

}  // namespace sinew::trainer
