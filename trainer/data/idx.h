// SPDX-License-Identifier: Apache-2.0
// Files in IDX, the format of MNIST: two zero bytes, the element type, the number of dimensions, each dimension as a
// big-endian uint32, then the elements, row after row. Plain or compressed by gzip. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sinew::trainer {

struct IdxArray {
  std::vector<uint32_t> dimensions;
  std::vector<uint8_t> bytes;  // the product of the dimensions
};

inline constexpr std::size_t kMaxIdxBytes = std::size_t{1} << 32;

// The file of unsigned bytes at `path`, or at `path`.gz when there is none. Memory is taken for what is really in the
// file, not for what its header claims. INVALID_ARGUMENT names the file, what was found and what was expected, when
// the number of dimensions is another, or the file is shorter or longer than its header says, or is damaged;
// NOT_FOUND names both paths.
absl::StatusOr<IdxArray> ReadIdx(const std::string& path, int dimensions);

}  // namespace sinew::trainer
