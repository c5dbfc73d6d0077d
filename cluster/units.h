// SPDX-License-Identifier: Apache-2.0
// Integers that carry their unit in the type. Sums saturate instead of wrapping: limits on specs keep real values
// far below the ends, and a saturated demand simply fits nowhere.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace sinew {

template <typename Tag>
struct Quantity {
  int64_t value = 0;

  constexpr auto operator<=>(const Quantity&) const = default;

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    int64_t sum = 0;
    if (__builtin_add_overflow(a.value, b.value, &sum)) return {Limit(a.value)};
    return {sum};
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    int64_t difference = 0;
    if (__builtin_sub_overflow(a.value, b.value, &difference)) return {Limit(a.value)};
    return {difference};
  }
  friend constexpr Quantity operator*(Quantity a, int64_t n) {
    int64_t product = 0;
    if (__builtin_mul_overflow(a.value, n, &product)) return {Limit((a.value < 0) == (n < 0) ? 1 : -1)};
    return {product};
  }
  constexpr Quantity& operator+=(Quantity b) { return *this = *this + b; }
  constexpr Quantity& operator-=(Quantity b) { return *this = *this - b; }

 private:
  static constexpr int64_t Limit(int64_t sign) {
    return sign < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  }
};

using Bytes = Quantity<struct BytesTag>;
using MilliCpus = Quantity<struct MilliCpusTag>;
using Milliwatts = Quantity<struct MilliwattsTag>;
using Millijoules = Quantity<struct MillijoulesTag>;
using Nanos = Quantity<struct NanosTag>;  // a duration

}  // namespace sinew
