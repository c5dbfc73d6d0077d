// SPDX-License-Identifier: Apache-2.0
#include "spec/validate.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/quantity.h"
#include "base/text.h"
#include "spec/signals.h"

namespace sinew {
namespace {

constexpr int64_t kDayNs = 86'400'000'000'000;

template <typename T>
std::string Show(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}
std::string Quoted(const std::string& text) { return "\"" + EscapeControl(text.substr(0, 200)) + "\""; }

std::string Joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

bool IsName(const std::string& text, const char* more = "") {
  if (text.empty() || text.size() > 63) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || std::string(more).find(c) != std::string::npos;
  });
}

class Checker {
 public:
  explicit Checker(const v1::JobSpec& spec) : spec_(spec) {}

  std::vector<Violation> Run() {
    Names();
    Numbers();
    Environment();
    Rules();
    if (spec_.kind() == v1::COMMAND) Command();
    if (spec_.kind() == v1::TRAIN) Train();
    return std::move(found_);
  }

 private:
  void Add(const std::string& field, const std::string& message) { found_.push_back({field, message}); }

  // Text that crosses the wire and ends in an argument, a path or an environment: UTF-8 without NUL.
  bool Text(const std::string& field, const std::string& text) {
    if (text.find('\0') != std::string::npos) {
      Add(field, "holds a NUL byte");
    } else if (!IsUtf8(text)) {
      Add(field, Quoted(text) + " is not UTF-8");
    } else {
      return true;
    }
    return false;
  }
  template <typename T>
  void Range(const std::string& field, T value, T lowest, T highest) {
    if (!(value >= lowest && value <= highest)) {
      Add(field, Show(value) + " is not between " + Show(lowest) + " and " + Show(highest));
    }
  }
  void Known(const std::string& field, const std::string& word, const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), word) != known.end()) return;
    const std::string near = DidYouMean(word, known);
    Add(field, Quoted(word) + " is not known" + (near.empty() ? "; known are: " + Joined(known) : near));
  }
  void Duration(const std::string& field, int64_t ns, int64_t highest) {
    if (ns < 0) Add(field, "is negative");
    if (ns > highest) Add(field, FormatDuration(ns) + " is more than " + FormatDuration(highest));
  }

  void Names() {
    if (!spec_.name().empty() && !IsName(spec_.name())) {
      Add("name", Quoted(spec_.name()) + " is not a name: 1 to 63 of a-z, 0-9 and -");
    }
    switch (spec_.kind()) {
      case v1::COMMAND:
      case v1::TRAIN:
        break;
      case v1::SERVICE:
      case v1::BATCH:
        Add("kind", "is not supported yet; known are: command, train");
        break;
      default:
        Add("kind", "must be given: command or train");
    }
    if (spec_.kind() == v1::COMMAND && spec_.has_train()) Add("kind", "is command, but the job says how to train");
    if (spec_.kind() == v1::TRAIN && spec_.has_command()) Add("kind", "is train, but the job has a command to run");
    if (Text("workdir", spec_.workdir())) {
      if (spec_.workdir().empty()) {
        Add("workdir", "must be given");
      } else if (spec_.workdir()[0] != '/') {
        Add("workdir", Quoted(spec_.workdir()) + " is not absolute");
      } else if (spec_.workdir().size() >= 4096) {
        Add("workdir", "is longer than 4095 bytes");
      }
    }
    if (!IsName(spec_.queue(), "_.")) Add("queue", Quoted(spec_.queue()) + " is not a name: 1 to 63 of a-z, 0-9, - _ .");
    for (const std::string& pool : spec_.pools()) {
      if (!IsName(pool, "_.")) Add("pools", Quoted(pool) + " is not a name: 1 to 63 of a-z, 0-9, - _ .");
    }
  }

  void Numbers() {
    const v1::WorkerCount& workers = spec_.workers();
    if (workers.min() < 1 || workers.min() > kMaxWorkers) {
      Add("workers", Show(workers.min()) + " is not between 1 and " + Show(kMaxWorkers));
    } else if (workers.max() < workers.min()) {
      Add("workers.max", Show(workers.max()) + " is less than workers.min, " + Show(workers.min()));
    } else if (workers.max() > kMaxWorkers) {
      Add("workers.max", Show(workers.max()) + " is more than " + Show(kMaxWorkers));
    } else if (workers.max() != workers.min()) {
      Add("workers", "a range is not supported yet; give one number");
    }
    const v1::Resources& r = spec_.resources();
    Range<int64_t>("resources.cpus", r.milli_cpus(), 1, 1'000'000'000);
    if (r.memory_bytes() < 0) Add("resources.memory", "is negative");
    if (r.accelerators_size() > 16) Add("resources.accelerators", "more than 16 alternatives");
    for (const v1::DeviceDemand& d : r.accelerators()) {
      if (!d.type().empty() && !IsName(d.type(), "_.")) {
        Add("resources.accelerators", Quoted(d.type()) + " is not a device type: 1 to 63 of a-z, 0-9, - _ .");
      }
      Range("resources.accelerators", d.count(), 1, 1024);
    }
    Duration("time_limit", spec_.time_limit_ns(), 3650 * kDayNs);
  }

  void Environment() {
    size_t total = 0;
    for (const auto& [name, value] : spec_.env()) {
      total += name.size() + value.size() + 2;
      const bool word = !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
                        std::all_of(name.begin(), name.end(), [](char c) {
                          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
                        });
      if (!word) Add("env", Quoted(name) + " is not a variable name: letters, digits and _, no digit first");
      else Text("env." + name, value);
    }
    if (total > kMaxEnvBytes) {
      Add("env", "has " + Show(total) + " bytes; at most " + Show(kMaxEnvBytes) + " are accepted");
    }
  }

  void Rules() {
    for (const auto& [field, value] : {std::pair{"placement.pack", spec_.placement().pack()},
                                       std::pair{"placement.spread", spec_.placement().spread()}}) {
      if (!value.empty() && value != "node") Add(field, Quoted(value) + " is not known; known are: node, none");
    }
    if (spec_.placement().pack() == "node" && spec_.placement().spread() == "node" && spec_.workers().min() > 1) {
      Add("placement", "all workers on one node (pack) and no two on one node (spread) contradict each other");
    }
    Duration("preempt.notice", spec_.preempt().notice_ns(), kDayNs);
    Duration("preempt.grace", spec_.preempt().grace_ns(), kDayNs);
    if (const std::string& signal = spec_.preempt().signal(); !signal.empty()) {
      if (signal.rfind("SIG", 0) == 0 && SignalNumber(signal.substr(3)) != 0) {
        Add("preempt.signal", Quoted(signal) + ": write it without SIG, " + Quoted(signal.substr(3)));
      } else {
        Known("preempt.signal", signal, NoticeSignals());
      }
    }
    Range("retry.max", spec_.retry().max(), 0, 1000);
    for (const std::string& cause : spec_.retry().on()) Known("retry.on", cause, {"node_fail", "signal"});
    Pattern("outputs.stdout", spec_.outputs().stdout());
    Pattern("outputs.stderr", spec_.outputs().stderr());
  }

  void Pattern(const std::string& field, const std::string& pattern) {
    if (!Text(field, pattern)) return;
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] != '%') continue;
      if (i + 1 == pattern.size() || std::string("jra%").find(pattern[i + 1]) == std::string::npos) {
        Add(field, Quoted(pattern.substr(i, 2)) + " is not known; known are: %j job, %r rank, %a attempt, %%");
      }
      ++i;
    }
  }

  void Command() {
    const auto& argv = spec_.command().argv();
    if (argv.empty()) return Add("run", "must be given: the command and its arguments");
    if (argv[0].empty()) Add("run", "the command is empty");
    for (const std::string& word : argv) {
      if (!Text("run", word)) return;
    }
  }

  void Train() {
    const v1::TrainSpec& train = spec_.train();
    Known("model", train.model(), KnownModels());
    Known("data.format", train.data().format(), {"idx"});
    if (Text("data.path", train.data().path())) {
      if (train.data().path().empty()) {
        Add("data.path", "must be given: the folder that holds the data on every node");
      } else if (train.data().path()[0] != '/') {
        Add("data.path", Quoted(train.data().path()) + " is not absolute");
      }
    }
    Range("epochs", train.epochs(), 1, 1'000'000);
    Range("batch_size", train.batch_size(), 1, 65'536);
    Range("threads", train.threads(), 0, 1024);
    Pattern("checkpoint.dir", train.checkpoint().dir());
    Duration("checkpoint.interval", train.checkpoint().interval_ns(), 365 * kDayNs);
    Range("checkpoint.keep", train.checkpoint().keep(), 1, 1000);
    Algorithm(train.algorithm());
  }

  void Algorithm(const v1::Algorithm& a) {
    Known("algorithm.name", a.name(), KnownAlgorithms());
    Range("algorithm.tau", a.tau(), 1, 1'000'000);
    if (!(a.learning_rate() > 0 && a.learning_rate() < 2)) {
      Add("algorithm.learning_rate", Show(a.learning_rate()) + " is not above 0 and below 2");
    }
    if (!(a.momentum() >= 0 && a.momentum() < 1)) {
      Add("algorithm.momentum", Show(a.momentum()) + " is not at least 0 and below 1");
    }
    // Synchronous EASGD on a quadratic is stable for alpha < (4 - 2 eta) / (2 (1 + p) - p eta) with eta the learning rate
    // times the curvature. The limit of eta = 0 holds whatever the curvature: alpha < 2 / (1 + p).
    const int p = spec_.workers().max();
    if (!(a.beta() > 0) || !std::isfinite(a.beta())) {
      Add("algorithm.beta", Show(a.beta()) + " is not above 0");
    } else if (p >= 1 && a.beta() >= 2.0 * p / (1 + p)) {
      Add("algorithm.beta", Show(a.beta()) + " makes training diverge: with " + Show(p) + (p == 1 ? " worker" : " workers") +
                                " alpha = beta / workers must stay below 2 / (1 + workers), so beta below " +
                                Show(2.0 * p / (1 + p)));
    }
  }

  const v1::JobSpec& spec_;
  std::vector<Violation> found_;
};

}  // namespace

const std::vector<std::string>& KnownModels() {
  static const std::vector<std::string> names = {"lenet"};
  return names;
}

const std::vector<std::string>& KnownAlgorithms() {
  static const std::vector<std::string> names = {"easgd-sync"};
  return names;
}

std::vector<Violation> Validate(const v1::JobSpec& spec) { return Checker(spec).Run(); }

}  // namespace sinew
