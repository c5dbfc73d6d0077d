// SPDX-License-Identifier: Apache-2.0
// Text for people: amounts written out, control characters made visible, tables. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sinew {

// Control characters (C0, DEL, C1) and bytes that are not UTF-8 become \n, \t or \xNN, so that nothing in a name or a
// log line steers the reader's terminal.
std::string EscapeControl(const std::string& text);

bool IsUtf8(const std::string& text);

// Exact, and read back by ParseDurationNs and ParseBytes: "90s" "12h" "1500ms"; "32Gi" "1500B".
std::string FormatDuration(int64_t ns);
std::string FormatBytes(int64_t bytes);

// Rounded, for reading: "0s" "52s" "3m20s" "2h05m" "4d3h"; "1.5Gi".
std::string FormatElapsed(int64_t ns);
std::string FormatBytesShort(int64_t bytes);

// "2", "0.5"; milli-CPUs as CPUs.
std::string FormatCpus(int64_t milli_cpus);

// Columns aligned by two spaces; cells are escaped and "" is shown as "<none>".
class Table {
 public:
  explicit Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}
  void Add(std::vector<std::string> cells);
  size_t size() const { return rows_.size(); }
  // Lines longer than `width` columns are cut, and end in "…"; 0 = never.
  std::string Text(size_t width = 0) const;

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sinew
