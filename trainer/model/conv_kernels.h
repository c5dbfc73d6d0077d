// SPDX-License-Identifier: Apache-2.0
// LeNet's convolution loops, compiled once for each kind of vector unit. Each works on one image; channels are the
// fastest dimension everywhere (rows, columns, channels), so that the loops run along contiguous memory.
//
// The backward passes go only over the outputs that the pooling let through and the ReLU kept: at most one in four.
// That is less work than dense matrix products, which would multiply the zeros too.
#pragma once

#include <cstdint>

namespace sinew::trainer {

struct ConvKernels {
  // image 28x28, weights [25][24] (channels padded to 24), bias [24] -> max-pooled, rectified 12x12x20, and for each
  // output which of its four inputs was the largest (row * 2 + column).
  void (*first_forward)(const float* image, const float* weights, const float* bias, float* out, uint8_t* which);

  // in 12x12x20 -> patches [64][500], a row for each output of the 5x5 convolution.
  void (*patches)(const float* in, float* patches);

  // in 8x8x50 before bias -> max-pooled, rectified 4x4x50.
  void (*second_pool)(const float* in, const float* bias, float* out, uint8_t* which);

  // d_out and out 4x4x50, in 12x12x20, weights [50][500] -> adds to d_weights [50][500] and d_bias [50];
  // overwrites d_in 12x12x20.
  void (*second_backward)(const float* d_out, const float* out, const uint8_t* which, const float* in,
                          const float* weights, float* d_in, float* d_weights, float* d_bias);

  // d_out and out 12x12x20, image 28x28 -> adds to d_weights [20][32] (25 used) and d_bias [20].
  void (*first_backward)(const float* d_out, const float* out, const uint8_t* which, const float* image,
                         float* d_weights, float* d_bias);
};

extern const ConvKernels kConvKernelsBase;
extern const ConvKernels kConvKernelsAvx2;
extern const ConvKernels kConvKernelsAvx512;

// The best that this processor can run.
const ConvKernels& ChooseConvKernels();

}  // namespace sinew::trainer
