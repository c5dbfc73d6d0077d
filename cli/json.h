// SPDX-License-Identifier: Apache-2.0
// Messages as JSON (protobuf's mapping: 64-bit integers are strings) and YAML. Golden tests hold their shape.
#pragma once

#include <string>

#include <google/protobuf/message.h>

namespace sinew::cli {

// One object with "apiVersion" first, ending in a newline. `indent` < 0: one line.
std::string ToJson(const google::protobuf::Message& message, int indent = 2);
std::string ToYaml(const google::protobuf::Message& message);

}  // namespace sinew::cli
