// SPDX-License-Identifier: Apache-2.0
// An absl::Status from errno: "<what> <path>: <errno text>", with the canonical code of the errno.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"

namespace sinew {

inline absl::Status ErrnoStatus(const std::string& what, const std::string& path, int error = errno) {
  return absl::Status(absl::ErrnoToStatusCode(error), what + " " + path + ": " + std::strerror(error));
}

}  // namespace sinew
