// SPDX-License-Identifier: Apache-2.0
// Policy files: a YAML map from slot to stage, such as
//   order: fifo
//   size:  fixed
//   place: {pack: {}}
// A stage is a name, or a map of one name to its parameters; a list of them runs one after the other.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "policies/registry.h"

namespace sinew {

// `name` is what the policy is called; `file` goes into errors.
absl::StatusOr<PolicySpec> ParsePolicy(const std::string& text, const std::string& file, const std::string& name);
// Named after the file, without folder and ending.
absl::StatusOr<PolicySpec> ReadPolicyFile(const std::string& path);

}  // namespace sinew
