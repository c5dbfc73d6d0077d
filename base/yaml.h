// SPDX-License-Identifier: Apache-2.0
// Strict reading of YAML files: every error names file, line, column, field, value, and what is accepted.
// Documents are limited in size, depth and number of nodes; aliases are refused. Values are cheap to copy and may be
// read from one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinew::yaml {

struct Tree;

// A node of a document, with the path that leads to it ("resources.accelerators[0]").
class Value {
 public:
  bool IsNull() const;
  bool IsScalar() const;
  bool IsList() const;
  bool IsMap() const;

  const std::string& path() const { return path_; }
  int line() const;    // from 1
  int column() const;  // from 1
  const std::string& file() const;

  // INVALID_ARGUMENT "file:line:column: path: message".
  absl::Status Error(const std::string& message) const;

  absl::StatusOr<std::string> String() const;                      // any scalar, as written
  absl::StatusOr<int64_t> Int(int64_t lowest, int64_t highest) const;
  absl::StatusOr<double> Number(double lowest, double highest) const;
  absl::StatusOr<bool> Bool() const;                               // true or false
  absl::StatusOr<int64_t> DurationNs() const;                      // "30s": the unit must be there
  absl::StatusOr<int64_t> Bytes() const;                           // "32Gi"
  absl::StatusOr<int64_t> MilliCpus() const;                       // 2, 0.5, "500m"
  absl::StatusOr<int64_t> Milliwatts() const;                      // "300W"
  absl::StatusOr<std::vector<Value>> List() const;
  // In the order of the file; keys are strings, none twice.
  absl::StatusOr<std::vector<std::pair<std::string, Value>>> Map() const;
  // As Map(), and refuses keys that are not in `known`, with the nearest known one.
  absl::StatusOr<std::vector<std::pair<std::string, Value>>> Map(const std::vector<std::string>& known) const;

 private:
  friend absl::StatusOr<Value> Parse(const std::string& text, const std::string& file);
  Value(std::shared_ptr<const Tree> tree, int node, std::string path)
      : tree_(std::move(tree)), node_(node), path_(std::move(path)) {}
  Value Child(int node, const std::string& step) const;

  std::shared_ptr<const Tree> tree_;
  int node_ = 0;
  std::string path_;
};

inline constexpr size_t kMaxBytes = 256 << 10;

// One document. An empty one is a null value.
absl::StatusOr<Value> Parse(const std::string& text, const std::string& file);

}  // namespace sinew::yaml
