// SPDX-License-Identifier: Apache-2.0
// Compiled several times, with SINEW_CONV_KERNELS as the name of the table. Only headers without inline functions may
// be included: the linker could keep a copy that needs a newer processor for the whole program.
#include "trainer/model/conv_kernels.h"

#include <string.h>

namespace sinew::trainer {
namespace {

constexpr int kSide = 28, kTaps = 25, kPad1 = 24;        // first layer
constexpr int kMid = 12, kC1 = 20, kRow = 5 * kC1;       // its pooled output; one kernel row of the second layer
constexpr int kC2 = 50, kPatch = 500;

void FirstForward(const float* __restrict image, const float* __restrict weights, const float* __restrict bias,
                  float* __restrict out, uint8_t* __restrict which) {
  for (int py = 0; py < kMid; ++py) {
    for (int px = 0; px < kMid; ++px) {
      float sum[4][kPad1] = {};
      const float* corner = image + 2 * py * kSide + 2 * px;
      for (int ky = 0; ky < 5; ++ky) {
        for (int kx = 0; kx < 5; ++kx) {
          const float* w = weights + (ky * 5 + kx) * kPad1;
          const float* at = corner + ky * kSide + kx;
          const float p0 = at[0], p1 = at[1], p2 = at[kSide], p3 = at[kSide + 1];
          for (int c = 0; c < kPad1; ++c) {
            sum[0][c] += p0 * w[c];
            sum[1][c] += p1 * w[c];
            sum[2][c] += p2 * w[c];
            sum[3][c] += p3 * w[c];
          }
        }
      }
      for (int c = 0; c < kC1; ++c) {
        float best = sum[0][c];
        int from = 0;
        for (int k = 1; k < 4; ++k) {
          from = sum[k][c] > best ? k : from;
          best = sum[k][c] > best ? sum[k][c] : best;
        }
        best += bias[c];
        out[c] = best > 0 ? best : 0;
        which[c] = static_cast<uint8_t>(from);
      }
      out += kC1;
      which += kC1;
    }
  }
}

void Patches(const float* __restrict in, float* __restrict patches) {
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      for (int ky = 0; ky < 5; ++ky) {
        memcpy(patches, in + ((y + ky) * kMid + x) * kC1, kRow * sizeof(float));
        patches += kRow;
      }
    }
  }
}

void SecondPool(const float* __restrict in, const float* __restrict bias, float* __restrict out,
                uint8_t* __restrict which) {
  for (int py = 0; py < 4; ++py) {
    for (int px = 0; px < 4; ++px) {
      const float* a = in + (2 * py * 8 + 2 * px) * kC2;
      for (int c = 0; c < kC2; ++c) {
        float best = a[c];
        int from = 0;
        const float v1 = a[kC2 + c], v2 = a[8 * kC2 + c], v3 = a[9 * kC2 + c];
        from = v1 > best ? 1 : from;
        best = v1 > best ? v1 : best;
        from = v2 > best ? 2 : from;
        best = v2 > best ? v2 : best;
        from = v3 > best ? 3 : from;
        best = v3 > best ? v3 : best;
        best += bias[c];
        out[c] = best > 0 ? best : 0;
        which[c] = static_cast<uint8_t>(from);
      }
      out += kC2;
      which += kC2;
    }
  }
}

void SecondBackward(const float* __restrict d_out, const float* __restrict out, const uint8_t* __restrict which,
                    const float* __restrict in, const float* __restrict weights, float* __restrict d_in,
                    float* __restrict d_weights, float* __restrict d_bias) {
  memset(d_in, 0, kMid * kMid * kC1 * sizeof(float));
  for (int o = 0; o < kC2; ++o) {
    const float* w = weights + o * kPatch;
    float* dw = d_weights + o * kPatch;
    for (int p = 0; p < 16; ++p) {
      if (!(out[p * kC2 + o] > 0)) continue;
      const float d = d_out[p * kC2 + o];
      const int from = which[p * kC2 + o];
      const int y = 2 * (p / 4) + from / 2, x = 2 * (p % 4) + from % 2;
      d_bias[o] += d;
      for (int ky = 0; ky < 5; ++ky) {
        const int at = ((y + ky) * kMid + x) * kC1;
        for (int k = 0; k < kRow; ++k) {
          d_in[at + k] += d * w[ky * kRow + k];
          dw[ky * kRow + k] += d * in[at + k];
        }
      }
    }
  }
}

void FirstBackward(const float* __restrict d_out, const float* __restrict out, const uint8_t* __restrict which,
                   const float* __restrict image, float* __restrict d_weights, float* __restrict d_bias) {
  for (int py = 0; py < kMid; ++py) {
    for (int px = 0; px < kMid; ++px) {
      float patch[4][32] = {};
      for (int k = 0; k < 4; ++k) {
        const float* corner = image + (2 * py + k / 2) * kSide + 2 * px + k % 2;
        for (int ky = 0; ky < 5; ++ky) {
          for (int kx = 0; kx < 5; ++kx) patch[k][ky * 5 + kx] = corner[ky * kSide + kx];
        }
      }
      for (int c = 0; c < kC1; ++c) {
        if (!(out[c] > 0)) continue;
        const float d = d_out[c];
        const float* from = patch[which[c]];
        float* dw = d_weights + c * 32;
        d_bias[c] += d;
        for (int k = 0; k < 32; ++k) dw[k] += d * from[k];
      }
      d_out += kC1;
      out += kC1;
      which += kC1;
    }
  }
  static_assert(kTaps <= 32);
}

}  // namespace

extern const ConvKernels SINEW_CONV_KERNELS = {FirstForward, Patches, SecondPool, SecondBackward, FirstBackward};

}  // namespace sinew::trainer
