// SPDX-License-Identifier: Apache-2.0
// Amounts as people write them. Units are mandatory where a bare number would be ambiguous. Errors say what is accepted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sinew {

absl::StatusOr<int64_t> ParseDurationNs(const std::string& text);  // "250ms" "30s" "10m" "12h" "2d"
absl::StatusOr<int64_t> ParseBytes(const std::string& text);       // "512Mi" "32Gi" "1G" "4096B"
absl::StatusOr<int64_t> ParseMilliCpus(const std::string& text);   // "2" "0.5" "500m"
absl::StatusOr<int64_t> ParseMilliwatts(const std::string& text);  // "300W" "1500mW" "2kW"

// The known word nearest to `word` by edit distance, or "" when none is near.
std::string Suggest(const std::string& word, const std::vector<std::string>& known);
// "; did you mean "x"?" or "".
std::string DidYouMean(const std::string& word, const std::vector<std::string>& known);

}  // namespace sinew
