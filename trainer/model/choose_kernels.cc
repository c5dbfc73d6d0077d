// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/conv_kernels.h"

namespace sinew::trainer {

const ConvKernels& ChooseConvKernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq")) {
    return kConvKernelsAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kConvKernelsAvx2;
#endif
  return kConvKernelsBase;
}

}  // namespace sinew::trainer
