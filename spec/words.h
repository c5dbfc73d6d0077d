// SPDX-License-Identifier: Apache-2.0
// A command line cut into words without a shell: blanks separate, '...' keeps everything, "..." and a backslash keep the
// next character. Nothing is expanded.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sinew {

// INVALID_ARGUMENT: a quote that is not closed, or an unquoted operator of the shell ("|", "&&", ">") as a word, which
// would silently be an argument.
absl::StatusOr<std::vector<std::string>> SplitWords(const std::string& text);

}  // namespace sinew
