// SPDX-License-Identifier: Apache-2.0
// A node taken for what a file describes: for trying Sinew where the hardware is not. Its fields are those of
// configs/hardware/; docs/agent.md has them all. Any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/sinew/v1/node.pb.h"

namespace sinew::agent {

// NOT_FOUND and the like when the file cannot be read; INVALID_ARGUMENT "file:line:column: field: ..." for its content.
absl::StatusOr<v1::NodeInfo> DescribedNode(const std::string& file);

// The same from the file's text; `name` is the file's in errors.
absl::StatusOr<v1::NodeInfo> ParseDescription(const std::string& text, const std::string& name);

}  // namespace sinew::agent
