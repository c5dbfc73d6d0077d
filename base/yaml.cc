// SPDX-License-Identifier: Apache-2.0
#include "base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/quantity.h"
#include "base/status_macros.h"

namespace sinew::yaml {

struct Node {
  enum class Kind { kNull, kScalar, kList, kMap } kind = Kind::kNull;
  std::string text;           // of a scalar
  bool quoted = false;
  int line = 1, column = 1;
  std::vector<int> children;  // of a map: key, value, key, value
};

struct Tree {
  std::string file;
  std::vector<Node> nodes;
};

namespace {

constexpr size_t kMaxNodes = 50'000;
constexpr size_t kMaxDepth = 32;

struct Refused {
  YAML::Mark mark;
  std::string why;
};

// Takes the parser's events, so that limits hold before a tree is built.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(Tree& tree) : tree_(tree) {}
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Add(mark, Node::Kind::kNull); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { throw Refused{mark, "aliases are not accepted"}; }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    Node& node = tree_.nodes[Add(mark, Node::Kind::kScalar)];
    node.text = value;
    node.quoted = tag == "!";
    if (!node.quoted && (value == "null" || value == "~")) node.kind = Node::Kind::kNull;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Open(Add(mark, Node::Kind::kList), mark);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Open(Add(mark, Node::Kind::kMap), mark);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  int Add(const YAML::Mark& mark, Node::Kind kind) {
    if (tree_.nodes.size() >= kMaxNodes) throw Refused{mark, "too many values in one file"};
    const int id = static_cast<int>(tree_.nodes.size());
    Node node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    tree_.nodes.push_back(std::move(node));
    if (!open_.empty()) tree_.nodes[open_.back()].children.push_back(id);
    return id;
  }
  void Open(int id, const YAML::Mark& mark) {
    if (open_.size() >= kMaxDepth) throw Refused{mark, "nested deeper than 32 levels"};
    open_.push_back(id);
  }
  Tree& tree_;
  std::vector<int> open_;
};

absl::Status At(const std::string& file, int line, int column, const std::string& message) {
  return absl::InvalidArgumentError(file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message);
}

}  // namespace

absl::StatusOr<Value> Parse(const std::string& text, const std::string& file) {
  if (text.size() > kMaxBytes) {
    return absl::InvalidArgumentError(file + ": has " + std::to_string(text.size()) + " bytes; at most " +
                                      std::to_string(kMaxBytes) + " are accepted");
  }
  if (const size_t nul = text.find('\0'); nul != std::string::npos) {
    return absl::InvalidArgumentError(file + ": holds a NUL byte at offset " + std::to_string(nul));
  }
  auto tree = std::make_shared<Tree>();
  tree->file = file;
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    Builder builder(*tree);
    if (!parser.HandleNextDocument(builder)) tree->nodes.assign(1, Node{});
    const size_t first = tree->nodes.size();
    if (parser.HandleNextDocument(builder) && tree->nodes.size() > first &&
        tree->nodes[first].kind != Node::Kind::kNull) {
      return At(file, tree->nodes[first].line, 1, "a second document; one is accepted");
    }
    if (tree->nodes.empty()) tree->nodes.assign(1, Node{});
  } catch (const Refused& r) {
    return At(file, r.mark.line + 1, r.mark.column + 1, r.why);
  } catch (const YAML::Exception& e) {
    return At(file, e.mark.line + 1, e.mark.column + 1, e.msg);
  }
  return Value(std::move(tree), 0, "");
}

bool Value::IsNull() const { return tree_->nodes[node_].kind == Node::Kind::kNull; }
bool Value::IsScalar() const { return tree_->nodes[node_].kind == Node::Kind::kScalar; }
bool Value::IsList() const { return tree_->nodes[node_].kind == Node::Kind::kList; }
bool Value::IsMap() const { return tree_->nodes[node_].kind == Node::Kind::kMap; }
int Value::line() const { return tree_->nodes[node_].line; }
int Value::column() const { return tree_->nodes[node_].column; }
const std::string& Value::file() const { return tree_->file; }

absl::Status Value::Error(const std::string& message) const {
  return At(file(), line(), column(), (path_.empty() ? "" : path_ + ": ") + message);
}

Value Value::Child(int node, const std::string& step) const {
  return Value(tree_, node, path_.empty() || step[0] == '[' ? path_ + step : path_ + "." + step);
}

absl::StatusOr<std::string> Value::String() const {
  if (!IsScalar()) return Error(IsNull() ? "has no value" : "must be one value, not a list or a map");
  return tree_->nodes[node_].text;
}

absl::StatusOr<int64_t> Value::Int(int64_t lowest, int64_t highest) const {
  ASSIGN_OR_RETURN(const std::string text, String());
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Error("\"" + text + "\" is not a whole number");
  }
  if (value < lowest || value > highest) {
    return Error(text + " is not between " + std::to_string(lowest) + " and " + std::to_string(highest));
  }
  return value;
}

absl::StatusOr<double> Value::Number(double lowest, double highest) const {
  ASSIGN_OR_RETURN(const std::string text, String());
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) return Error("\"" + text + "\" is not a number");
  if (value < lowest || value > highest) {
    std::ostringstream range;
    range << text << " is not between " << lowest << " and " << highest;
    return Error(range.str());
  }
  return value;
}

absl::StatusOr<bool> Value::Bool() const {
  ASSIGN_OR_RETURN(const std::string text, String());
  if (text == "true") return true;
  if (text == "false") return false;
  return Error("\"" + text + "\" is neither true nor false");
}

namespace {
absl::StatusOr<int64_t> Amount(const Value& value, absl::StatusOr<int64_t> (*parse)(const std::string&)) {
  ASSIGN_OR_RETURN(const std::string text, value.String());
  auto amount = parse(text);
  if (!amount.ok()) return value.Error(std::string(amount.status().message()));
  return amount;
}
}  // namespace

absl::StatusOr<int64_t> Value::DurationNs() const { return Amount(*this, ParseDurationNs); }
absl::StatusOr<int64_t> Value::Bytes() const { return Amount(*this, ParseBytes); }
absl::StatusOr<int64_t> Value::MilliCpus() const { return Amount(*this, ParseMilliCpus); }
absl::StatusOr<int64_t> Value::Milliwatts() const { return Amount(*this, ParseMilliwatts); }

absl::StatusOr<std::vector<Value>> Value::List() const {
  if (!IsList()) return Error("must be a list");
  std::vector<Value> items;
  int i = 0;
  for (const int child : tree_->nodes[node_].children) items.push_back(Child(child, "[" + std::to_string(i++) + "]"));
  return items;
}

absl::StatusOr<std::vector<std::pair<std::string, Value>>> Value::Map() const {
  if (!IsMap()) return Error("must be a map of keys and values");
  std::vector<std::pair<std::string, Value>> entries;
  std::set<std::string> seen;
  const auto& children = tree_->nodes[node_].children;
  for (size_t i = 0; i + 1 < children.size(); i += 2) {
    const Value key = Child(children[i], "key");
    if (!key.IsScalar()) return key.Error("keys must be words");
    const std::string& name = tree_->nodes[children[i]].text;
    if (!seen.insert(name).second) return Child(children[i], name).Error("given twice");
    entries.emplace_back(name, Child(children[i + 1], name));
  }
  return entries;
}

absl::StatusOr<std::vector<std::pair<std::string, Value>>> Value::Map(const std::vector<std::string>& known) const {
  ASSIGN_OR_RETURN(auto entries, Map());
  const auto& children = tree_->nodes[node_].children;
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string& name = entries[i].first;
    bool found = false;
    for (const std::string& k : known) found |= k == name;
    if (found) continue;
    std::string all;
    for (const std::string& k : known) all += (all.empty() ? "" : " ") + k;
    const std::string near = DidYouMean(name, known);
    return Child(children[2 * i], name).Error("unknown key" + (near.empty() ? "; known are: " + all : near));
  }
  return entries;
}

}  // namespace sinew::yaml
