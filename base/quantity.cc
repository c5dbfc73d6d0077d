// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace sinew {
namespace {

struct Unit {
  const char* name;
  double factor;
};

absl::StatusOr<int64_t> Parse(const std::string& text, const std::vector<Unit>& units, double highest,
                              const std::string& accepted) {
  auto refuse = [&] { return absl::InvalidArgumentError("\"" + text + "\" is not " + accepted); };
  if (text.empty() || !(text[0] >= '0' && text[0] <= '9')) return refuse();
  const size_t digits = text.find_first_not_of("0123456789.");
  const std::string number = text.substr(0, digits);
  if (std::count(number.begin(), number.end(), '.') > 1 || number.size() > 18) return refuse();
  std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  while (!unit.empty() && unit[0] == ' ') unit.erase(0, 1);
  for (const Unit& u : units) {
    if (unit != u.name) continue;
    const double value = std::strtod(number.c_str(), nullptr) * u.factor;
    if (!(value <= highest)) {
      return absl::InvalidArgumentError("\"" + text + "\" is too large");
    }
    return static_cast<int64_t>(std::llround(value));
  }
  return refuse();
}

// Insertions, deletions, substitutions and swaps of neighbours.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

absl::StatusOr<int64_t> ParseDurationNs(const std::string& text) {
  return Parse(text, {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}},
               9e18, "a duration with its unit, such as 500ms, 30s, 10m, 12h or 2d");
}

absl::StatusOr<int64_t> ParseBytes(const std::string& text) {
  return Parse(text,
               {{"B", 1}, {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0}, {"K", 1e3},
                {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"KiB", 1024.0}, {"MiB", 1048576.0},
                {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}},
               1e18, "a size with its unit, such as 512Mi, 32Gi or 1T");
}

absl::StatusOr<int64_t> ParseMilliCpus(const std::string& text) {
  return Parse(text, {{"", 1000.0}, {"m", 1.0}}, 1e12, "a number of CPUs, such as 2, 0.5 or 500m");
}

absl::StatusOr<int64_t> ParseMilliwatts(const std::string& text) {
  return Parse(text, {{"mW", 1.0}, {"W", 1e3}, {"kW", 1e6}}, 1e12, "a power with its unit, such as 300W or 2kW");
}

std::string Suggest(const std::string& word, const std::vector<std::string>& known) {
  if (word.size() > 64) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(1, std::min<size_t>(3, (word.size() + 1) / 3)) + 1;
  for (const std::string& k : known) {
    if (const size_t d = EditDistance(word, k); d < best_distance) {
      best = k;
      best_distance = d;
    }
  }
  return best;
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = Suggest(word, known);
  return nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?";
}

}  // namespace sinew
