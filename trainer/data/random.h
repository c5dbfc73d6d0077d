// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine and with every standard library: SplitMix64 (Steele, Lea, Flood,
// "Fast splittable pseudorandom number generators", OOPSLA 2014). One object belongs to one thread at a time.
#pragma once

#include <cstdint>

namespace sinew::trainer {

class Random {
 public:
  // Different (seed, stream) give unrelated sequences.
  explicit Random(uint64_t seed, uint64_t stream = 0) : state_(seed) {
    state_ = Next() ^ (stream * 0xd1342543de82ef95ull);
    Next();
  }

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // In [0, 1), of 53 bits.
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  // In [0, limit); limit > 0. Without bias.
  uint64_t Below(uint64_t limit) {
    const uint64_t unfair = (0 - limit) % limit;
    for (;;) {
      if (const uint64_t r = Next(); r >= unfair) return r % limit;
    }
  }

 private:
  uint64_t state_;
};

}  // namespace sinew::trainer
