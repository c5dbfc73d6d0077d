// SPDX-License-Identifier: Apache-2.0
#include "spec/words.h"

namespace sinew {

absl::StatusOr<std::vector<std::string>> SplitWords(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false, plain = true;  // a word has begun; nothing of it was quoted
  const auto end = [&]() -> absl::Status {
    if (!open) return absl::OkStatus();
    for (const char* op : {"|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>", ">&2"}) {
      if (plain && word == op) {
        return absl::InvalidArgumentError("\"" + word + "\" belongs to a shell, and none runs here; quote it, or write " +
                                          "run: [/bin/sh, -c, '...']");
      }
    }
    words.push_back(word);
    word.clear();
    open = false;
    plain = true;
    return absl::OkStatus();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\n') {
      if (absl::Status status = end(); !status.ok()) return status;
      continue;
    }
    open = true;
    if (c == '\\') {
      if (i + 1 == text.size()) return absl::InvalidArgumentError("ends in a backslash");
      word += text[++i];
      plain = false;
    } else if (c == '\'' || c == '"') {
      plain = false;
      size_t at = i + 1;
      for (; at < text.size() && text[at] != c; ++at) {
        if (c == '"' && text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '"' || text[at + 1] == '\\')) ++at;
        word += text[at];
      }
      if (at >= text.size()) return absl::InvalidArgumentError(std::string("a quote ") + c + " is not closed");
      i = at;
    } else {
      word += c;
    }
  }
  if (absl::Status status = end(); !status.ok()) return status;
  return words;
}

}  // namespace sinew
