// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include <google/protobuf/util/json_util.h>

#include <cctype>
#include <nlohmann/json.hpp>

namespace sinew::cli {
namespace {

using Json = nlohmann::ordered_json;

Json Tree(const google::protobuf::Message& message) {
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(message, &text);
  Json out;
  out["apiVersion"] = "v1";
  // Lists show that they are empty.
  const auto& type = *message.GetDescriptor();
  if (type.name().rfind("List", 0) == 0 && type.field(0)->is_repeated()) out[type.field(0)->json_name()] = Json::array();
  const Json parsed = Json::parse(text, nullptr, false);
  for (const auto& [key, value] : parsed.items()) out[key] = value;
  return out;
}

std::string Dump(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Strings in JSON's quotes are YAML; those that are plainly words go without.
std::string Scalar(const Json& value) {
  if (!value.is_string()) return Dump(value, -1);
  const std::string& text = value.get_ref<const std::string&>();
  bool plain = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0;
  for (const char c : text) plain &= std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '/' || c == '.';
  for (const char* word : {"null", "true", "false", "yes", "no", "on", "off", "y", "n", "Yes", "No", "True", "False", "Null"})
    plain &= text != word;
  return plain ? text : Dump(value, -1);
}

void Yaml(const Json& value, size_t depth, std::string& out) {
  const std::string margin(depth * 2, ' ');
  const auto below = [&](const Json& child) {
    if ((child.is_object() || child.is_array()) && !child.empty()) {
      out += "\n";
      Yaml(child, depth + 1, out);
    } else {
      out += " " + Scalar(child) + "\n";
    }
  };
  if (value.is_object()) {
    for (auto& [key, child] : value.items()) {
      out += margin + Scalar(Json(key)) + ":";
      below(child);
    }
  } else {
    for (const Json& child : value) {
      if (child.is_object() && !child.empty()) {
        const size_t begin = out.size();
        Yaml(child, depth + 1, out);
        out.replace(begin, depth * 2 + 2, margin + "- ");
      } else {
        out += margin + "-";
        below(child);
      }
    }
  }
}

}  // namespace

std::string ToJson(const google::protobuf::Message& message, int indent) { return Dump(Tree(message), indent) + "\n"; }

std::string ToYaml(const google::protobuf::Message& message) {
  std::string out;
  Yaml(Tree(message), 0, out);
  return out;
}

}  // namespace sinew::cli
