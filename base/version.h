// SPDX-License-Identifier: Apache-2.0
// The version every program of Sinew answers to --version.
#pragma once

namespace sinew {
inline constexpr char kVersion[] = "0.1.0";
}  // namespace sinew
