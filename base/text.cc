// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace sinew {
namespace {

// Length of the UTF-8 sequence at `at`, with its code point; 0 when it is none.
size_t Sequence(const std::string& text, size_t at, uint32_t& point) {
  const auto byte = [&](size_t i) -> uint32_t { return static_cast<unsigned char>(text[i]); };
  const uint32_t first = byte(at);
  if (first < 0x80) {
    point = first;
    return 1;
  }
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > text.size()) return 0;
  point = first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte(at + i) & 0x3f);
  }
  constexpr uint32_t kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kLowest[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return 0;
  return length;
}

std::string Hex(unsigned char byte) {
  char text[8];
  std::snprintf(text, sizeof(text), "\\x%02x", byte);
  return text;
}

size_t Columns(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string Cut(const std::string& line, size_t width) {
  if (width == 0 || Columns(line) <= width) return line;
  size_t columns = 0, end = 0;
  while (end < line.size()) {
    if ((line[end] & 0xc0) != 0x80 && columns++ == width - 1) break;
    ++end;
  }
  return line.substr(0, end) + "…";
}

}  // namespace

std::string EscapeControl(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    uint32_t point = 0;
    const size_t length = Sequence(text, at, point);
    if (length == 0) {
      out += Hex(static_cast<unsigned char>(text[at++]));
      continue;
    }
    if (point == '\n') {
      out += "\\n";
    } else if (point == '\t') {
      out += "\\t";
    } else if (point < 0x20 || (point >= 0x7f && point < 0xa0)) {
      for (size_t i = 0; i < length; ++i) out += Hex(static_cast<unsigned char>(text[at + i]));
    } else {
      out.append(text, at, length);
    }
    at += length;
  }
  return out;
}

bool IsUtf8(const std::string& text) {
  uint32_t point = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t length = Sequence(text, at, point);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string FormatDuration(int64_t ns) {
  constexpr struct {
    int64_t ns;
    const char* unit;
  } kUnits[] = {{86'400'000'000'000, "d"}, {3'600'000'000'000, "h"}, {60'000'000'000, "m"}, {1'000'000'000, "s"},
                {1'000'000, "ms"}};
  if (ns == 0) return "0s";
  for (const auto& u : kUnits) {
    if (ns % u.ns == 0) return std::to_string(ns / u.ns) + u.unit;
  }
  char text[64];
  std::snprintf(text, sizeof(text), "%lld.%06lldms", static_cast<long long>(ns / 1'000'000),
                static_cast<long long>(std::llabs(ns % 1'000'000)));
  return text;
}

std::string FormatBytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "Ki", "Mi", "Gi", "Ti"};
  int unit = 0;
  while (bytes != 0 && unit < 4 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kUnits[unit];
}

std::string FormatElapsed(int64_t ns) {
  const long long s = std::max<long long>(0, ns / 1'000'000'000);
  char text[64];
  if (s < 60) {
    std::snprintf(text, sizeof(text), "%llds", s);
  } else if (s < 3600) {
    std::snprintf(text, sizeof(text), "%lldm%02llds", s / 60, s % 60);
  } else if (s < 86400) {
    std::snprintf(text, sizeof(text), "%lldh%02lldm", s / 3600, s / 60 % 60);
  } else {
    std::snprintf(text, sizeof(text), "%lldd%lldh", s / 86400, s / 3600 % 24);
  }
  return text;
}

std::string FormatBytesShort(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "Ki", "Mi", "Gi", "Ti", "Pi"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 5) {
    value /= 1024;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof(text), value >= 100 || value == std::floor(value) ? "%.0f%s" : "%.1f%s", value,
                kUnits[unit]);
  return text;
}

std::string FormatCpus(int64_t milli_cpus) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.3f", static_cast<double>(milli_cpus) / 1000);
  std::string out = text;
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out;
}

void Table::Add(std::vector<std::string> cells) {
  cells.resize(headers_.size());
  for (std::string& cell : cells) cell = cell.empty() ? "<none>" : EscapeControl(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::Text(size_t width) const {
  std::vector<size_t> widths;
  for (const std::string& h : headers_) widths.push_back(Columns(h));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Columns(row[i]));
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      text += cells[i];
      if (i + 1 < cells.size()) text.append(widths[i] - Columns(cells[i]) + 2, ' ');
    }
    out += Cut(text, width) + "\n";
  };
  line(headers_);
  for (const auto& row : rows_) line(row);
  return out;
}

}  // namespace sinew
