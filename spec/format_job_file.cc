// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdio>
#include <map>

#include "base/text.h"
#include "spec/job_file.h"

namespace sinew {
namespace {

// Always in quotes where a reader of YAML could take the text for something else.
std::string Scalar(const std::string& text) {
  bool plain = !text.empty() && text.size() < 200;
  for (const char c : text) {
    plain &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
             c == '_' || c == '-';
  }
  plain = plain && ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z') || text[0] == '/');
  for (const char* word : {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}) plain &= text != word;
  if (plain) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += std::string("\\") + c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char hex[8];
      std::snprintf(hex, sizeof(hex), "\\x%02x", static_cast<unsigned char>(c));
      out += hex;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string Number(double value) {
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end);
}

template <typename Words>
std::string List(const Words& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + Scalar(w);
  return "[" + out + "]";
}

// Entries of one map in flow style; empty values are left out.
class Flow {
 public:
  Flow& Raw(const char* key, const std::string& value) {
    if (!value.empty()) text_ += (text_.empty() ? "" : ", ") + std::string(key) + ": " + value;
    return *this;
  }
  Flow& Text(const char* key, const std::string& value) { return Raw(key, value.empty() ? "" : Scalar(value)); }
  std::string Line(const char* key) const { return text_.empty() ? "" : std::string(key) + ": {" + text_ + "}\n"; }

 private:
  std::string text_;
};

std::string Train(const v1::TrainSpec& t) {
  std::string out;
  if (!t.model().empty()) out += "model: " + Scalar(t.model()) + "\n";
  out += Flow().Text("format", t.data().format()).Text("path", t.data().path()).Line("data");
  const v1::Algorithm& a = t.algorithm();
  out += Flow()
             .Text("name", a.name())
             .Raw("beta", a.beta() == 0 ? "" : Number(a.beta()))
             .Raw("tau", a.tau() == 0 ? "" : std::to_string(a.tau()))
             .Raw("learning_rate", a.learning_rate() == 0 ? "" : Number(a.learning_rate()))
             .Raw("momentum", Number(a.momentum()))
             .Line("algorithm");
  if (t.epochs() != 0) out += "epochs: " + std::to_string(t.epochs()) + "\n";
  if (t.batch_size() != 0) out += "batch_size: " + std::to_string(t.batch_size()) + "\n";
  out += "seed: " + std::to_string(t.seed()) + "\n";
  if (t.threads() != 0) out += "threads: " + std::to_string(t.threads()) + "\n";
  const v1::Checkpoint& c = t.checkpoint();
  return out + Flow()
                   .Text("dir", c.dir())
                   .Raw("interval", c.interval_ns() == 0 ? "" : FormatDuration(c.interval_ns()))
                   .Raw("keep", c.keep() == 0 ? "" : std::to_string(c.keep()))
                   .Raw("resume", c.resume() ? "auto" : "never")
                   .Line("checkpoint");
}

}  // namespace

std::string FormatJobFile(const v1::JobSpec& spec) {
  std::string out = "apiVersion: v1\n";
  if (!spec.name().empty()) out += "name: " + Scalar(spec.name()) + "\n";
  out += std::string("kind: ") + (spec.kind() == v1::TRAIN ? "train" : "command") + "\n";
  if (spec.has_command()) out += "run: " + List(spec.command().argv()) + "\n";
  if (spec.has_train()) out += Train(spec.train());
  if (!spec.workdir().empty()) out += "workdir: " + Scalar(spec.workdir()) + "\n";
  const v1::WorkerCount& w = spec.workers();
  if (w.min() != 0 && w.min() == w.max()) {
    out += "workers: " + std::to_string(w.min()) + "\n";
  } else if (w.min() != 0 || w.max() != 0) {
    out += Flow()
               .Raw("min", w.min() == 0 ? "" : std::to_string(w.min()))
               .Raw("max", w.max() == 0 ? "" : std::to_string(w.max()))
               .Line("workers");
  }
  std::string accelerators;
  for (const v1::DeviceDemand& d : spec.resources().accelerators()) {
    accelerators += (accelerators.empty() ? "{" : ", {") + (d.type().empty() ? "any" : Scalar(d.type())) + ": " +
                    std::to_string(d.count()) + "}";
  }
  const v1::Resources& r = spec.resources();
  out += Flow()
             .Raw("accelerators", accelerators.empty() ? "" : "[" + accelerators + "]")
             .Raw("cpus", r.milli_cpus() == 0 ? "" : FormatCpus(r.milli_cpus()))
             .Raw("memory", r.memory_bytes() == 0 ? "" : FormatBytes(r.memory_bytes()))
             .Line("resources");
  out += Flow().Text("pack", spec.placement().pack()).Text("spread", spec.placement().spread()).Line("placement");
  if (spec.time_limit_ns() != 0) out += "time_limit: " + FormatDuration(spec.time_limit_ns()) + "\n";
  if (!spec.queue().empty()) out += "queue: " + Scalar(spec.queue()) + "\n";
  if (!spec.pools().empty()) out += "pools: " + List(spec.pools()) + "\n";
  const v1::Preempt& p = spec.preempt();
  out += Flow()
             .Raw("notice", p.notice_ns() == 0 ? "" : FormatDuration(p.notice_ns()))
             .Text("signal", p.signal())
             .Raw("grace", p.grace_ns() == 0 ? "" : FormatDuration(p.grace_ns()))
             .Line("preempt");
  out += Flow()
             .Raw("max", spec.retry().max() == 0 ? "" : std::to_string(spec.retry().max()))
             .Raw("on", spec.retry().on().empty() ? "" : List(spec.retry().on()))
             .Line("retry");
  out += Flow().Text("stdout", spec.outputs().stdout()).Text("stderr", spec.outputs().stderr()).Line("outputs");
  if (!spec.env().empty()) {
    out += "env:\n";
    for (const auto& [name, value] : std::map<std::string, std::string>(spec.env().begin(), spec.env().end())) {
      out += "  " + Scalar(name) + ": " + Scalar(value) + "\n";
    }
  }
  return out;
}

}  // namespace sinew
