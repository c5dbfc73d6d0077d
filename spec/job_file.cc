// SPDX-License-Identifier: Apache-2.0
#include "spec/job_file.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/quantity.h"
#include "base/status_macros.h"
#include "base/yaml.h"
#include "spec/words.h"

namespace sinew {
namespace {

using yaml::Value;
using Entries = std::vector<std::pair<std::string, Value>>;

const std::vector<std::string> kCommandKeys = {"run"};
const std::vector<std::string> kTrainKeys = {"model",      "data", "algorithm", "epochs",
                                             "batch_size", "seed", "threads",   "checkpoint"};
const std::vector<std::string> kCommonKeys = {"apiVersion", "kind",  "name",    "workdir", "workers", "resources",
                                              "placement",  "queue", "pools",   "env",     "preempt", "retry",
                                              "outputs",    "time_limit"};
const std::vector<std::string> kLaterKeys = {"deadline", "carbon", "power", "depends_on", "array", "secrets", "any_of"};

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Reader {
 public:
  explicit Reader(JobFile& file) : file_(file), spec_(file.spec) {}

  absl::Status Root(const Value& root) {
    if (root.IsNull()) return root.Error("is empty; a job says at least what to `run`");
    std::vector<std::string> known = kCommonKeys;
    for (const auto* more : {&kCommandKeys, &kTrainKeys, &kLaterKeys}) known.insert(known.end(), more->begin(), more->end());
    ASSIGN_OR_RETURN(const Entries entries, Map(root, known));
    RETURN_IF_ERROR(Kind(root, entries));
    for (const auto& [key, value] : entries) {
      if (Has(kLaterKeys, key)) return value.Error("is not supported yet");
      if (Has(kCommandKeys, key) && spec_.kind() != v1::COMMAND) return value.Error("belongs to kind: command");
      if (Has(kTrainKeys, key) && spec_.kind() != v1::TRAIN) return value.Error("belongs to kind: train");
      RETURN_IF_ERROR(Key(key, value));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Entries> Map(const Value& value, const std::vector<std::string>& known) {
    ASSIGN_OR_RETURN(Entries entries, value.Map(known));
    for (const auto& [key, v] : entries) {
      file_.places[v.path()] = v.file() + ":" + std::to_string(v.line()) + ":" + std::to_string(v.column());
    }
    return entries;
  }

  absl::Status Kind(const Value& root, const Entries& entries) {
    bool run = false, train = false;
    for (const auto& [key, value] : entries) {
      run |= Has(kCommandKeys, key);
      train |= Has(kTrainKeys, key);
      if (key != "kind") continue;
      ASSIGN_OR_RETURN(const std::string kind, value.String());
      if (kind == "service" || kind == "batch") return value.Error("\"" + kind + "\" is not supported yet");
      if (kind != "command" && kind != "train") {
        const std::string near = DidYouMean(kind, {"command", "train"});
        return value.Error("\"" + kind + "\" is not known" + (near.empty() ? "; known are: command, train" : near));
      }
      spec_.set_kind(kind == "train" ? v1::TRAIN : v1::COMMAND);
    }
    if (spec_.kind() == v1::JOB_KIND_UNSPECIFIED && run != train) spec_.set_kind(run ? v1::COMMAND : v1::TRAIN);
    if (spec_.kind() == v1::JOB_KIND_UNSPECIFIED) return root.Error("kind: must be given: command or train");
    if (spec_.kind() == v1::COMMAND) spec_.mutable_command();
    if (spec_.kind() == v1::TRAIN && !spec_.has_train()) spec_.mutable_train()->mutable_checkpoint()->set_resume(true);
    return absl::OkStatus();
  }

  absl::Status Key(const std::string& key, const Value& v) {
    if (key == "apiVersion") {
      ASSIGN_OR_RETURN(const std::string version, v.String());
      if (version != "v1") return v.Error("\"" + version + "\" is not known; known is: v1");
    }
    if (key == "name") return Text(v, *spec_.mutable_name());
    if (key == "workdir") return Text(v, *spec_.mutable_workdir());
    if (key == "queue") return Text(v, *spec_.mutable_queue());
    if (key == "pools") return Texts(v, *spec_.mutable_pools());
    if (key == "workers") return Workers(v);
    if (key == "resources") return Resources(v);
    if (key == "placement") return Placement(v);
    if (key == "preempt") return Preempt(v);
    if (key == "outputs") return Outputs(v);
    if (key == "retry") return Retry(v);
    if (key == "env") return Env(v);
    if (key == "run") return Run(v);
    if (key == "time_limit") {
      ASSIGN_OR_RETURN(const int64_t ns, v.DurationNs());
      if (ns == 0) return v.Error("is 0; leave it out for no limit");
      spec_.set_time_limit_ns(ns);
    }
    return spec_.kind() == v1::TRAIN ? Train(key, v) : absl::OkStatus();
  }

  absl::Status Train(const std::string& key, const Value& v) {
    v1::TrainSpec& train = *spec_.mutable_train();
    if (key == "model") return Text(v, *train.mutable_model());
    if (key == "data") {
      ASSIGN_OR_RETURN(const Entries entries, Map(v, {"format", "path"}));
      for (const auto& [k, value] : entries) {
        RETURN_IF_ERROR(Text(value, k == "format" ? *train.mutable_data()->mutable_format()
                                                  : *train.mutable_data()->mutable_path()));
      }
    }
    if (key == "algorithm") return Algorithm(v, *train.mutable_algorithm());
    if (key == "checkpoint") return Checkpoint(v, *train.mutable_checkpoint());
    if (key == "epochs") {
      ASSIGN_OR_RETURN(const int64_t n, v.Int(1, 1'000'000));
      train.set_epochs(static_cast<int32_t>(n));
    }
    if (key == "batch_size") {
      ASSIGN_OR_RETURN(const int64_t n, v.Int(1, 65'536));
      train.set_batch_size(static_cast<int32_t>(n));
    }
    if (key == "seed") {
      ASSIGN_OR_RETURN(const int64_t n, v.Int(0, INT64_MAX));
      train.set_seed(static_cast<uint64_t>(n));
    }
    if (key == "threads") {
      ASSIGN_OR_RETURN(const int64_t n, v.Int(0, 1024));
      train.set_threads(static_cast<int32_t>(n));
    }
    return absl::OkStatus();
  }

  absl::Status Algorithm(const Value& v, v1::Algorithm& a) {
    ASSIGN_OR_RETURN(const Entries entries, Map(v, {"name", "beta", "tau", "learning_rate", "momentum"}));
    for (const auto& [key, value] : entries) {
      if (key == "name") {
        RETURN_IF_ERROR(Text(value, *a.mutable_name()));
      } else if (key == "tau") {
        ASSIGN_OR_RETURN(const int64_t n, value.Int(1, 1'000'000));
        a.set_tau(static_cast<int32_t>(n));
      } else {
        ASSIGN_OR_RETURN(const double number, value.Number(0, 1000));
        if (number == 0 && key != "momentum") return value.Error("0 is not above 0");
        if (key == "beta") a.set_beta(number);
        if (key == "learning_rate") a.set_learning_rate(number);
        if (key == "momentum") a.set_momentum(number);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Checkpoint(const Value& v, v1::Checkpoint& c) {
    ASSIGN_OR_RETURN(const Entries entries, Map(v, {"dir", "interval", "keep", "resume"}));
    for (const auto& [key, value] : entries) {
      if (key == "dir") RETURN_IF_ERROR(Text(value, *c.mutable_dir()));
      if (key == "interval") {
        ASSIGN_OR_RETURN(const int64_t ns, value.DurationNs());
        c.set_interval_ns(ns);
      }
      if (key == "keep") {
        ASSIGN_OR_RETURN(const int64_t n, value.Int(1, 1000));
        c.set_keep(static_cast<int32_t>(n));
      }
      if (key == "resume") {
        ASSIGN_OR_RETURN(const std::string word, value.String());
        if (word != "auto" && word != "true" && word != "never" && word != "false") {
          return value.Error("\"" + word + "\" is not known; known are: auto, never");
        }
        c.set_resume(word == "auto" || word == "true");
      }
    }
    return absl::OkStatus();
  }

  absl::Status Text(const Value& v, std::string& out) {
    ASSIGN_OR_RETURN(out, v.String());
    return absl::OkStatus();
  }

  // A list of words, or one word.
  template <typename Field>
  absl::Status Texts(const Value& v, Field& out) {
    out.Clear();
    if (!v.IsList()) return Text(v, *out.Add());
    ASSIGN_OR_RETURN(const std::vector<Value> items, v.List());
    for (const Value& item : items) RETURN_IF_ERROR(Text(item, *out.Add()));
    return absl::OkStatus();
  }

  absl::Status Workers(const Value& v) {
    v1::WorkerCount& workers = *spec_.mutable_workers();
    if (v.IsMap()) {
      ASSIGN_OR_RETURN(const Entries entries, Map(v, {"min", "max"}));
      for (const auto& [key, value] : entries) {
        ASSIGN_OR_RETURN(const int64_t n, value.Int(1, 10'000));
        key == "min" ? workers.set_min(static_cast<int32_t>(n)) : workers.set_max(static_cast<int32_t>(n));
      }
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const int64_t n, v.Int(1, 10'000));
    workers.set_min(static_cast<int32_t>(n));
    workers.set_max(static_cast<int32_t>(n));
    return absl::OkStatus();
  }

  absl::Status Resources(const Value& v) {
    ASSIGN_OR_RETURN(const Entries entries, Map(v, {"accelerators", "cpus", "memory", "any_of"}));
    for (const auto& [key, value] : entries) {
      if (key == "any_of") return value.Error("is not supported yet");
      if (key == "cpus") {
        ASSIGN_OR_RETURN(const int64_t milli, value.MilliCpus());
        if (milli == 0) return value.Error("0 is not above 0");
        spec_.mutable_resources()->set_milli_cpus(milli);
      }
      if (key == "memory") {
        ASSIGN_OR_RETURN(const int64_t bytes, value.Bytes());
        spec_.mutable_resources()->set_memory_bytes(bytes);
      }
      if (key == "accelerators") RETURN_IF_ERROR(Accelerators(value));
    }
    return absl::OkStatus();
  }

  absl::Status Accelerators(const Value& v) {
    spec_.mutable_resources()->clear_accelerators();
    if (!v.IsList()) return Accelerator(v);
    ASSIGN_OR_RETURN(const std::vector<Value> items, v.List());
    for (const Value& item : items) RETURN_IF_ERROR(Accelerator(item));
    return absl::OkStatus();
  }

  // {v100: 2}, "v100:2", "v100", or 2 of any type.
  absl::Status Accelerator(const Value& v) {
    std::string type;
    int64_t count = 1;
    if (v.IsMap()) {
      ASSIGN_OR_RETURN(const Entries entries, v.Map());
      if (entries.size() != 1) return v.Error("one type with its count; alternatives are a list: [{a: 1}, {b: 2}]");
      type = entries[0].first;
      ASSIGN_OR_RETURN(count, entries[0].second.Int(1, 1024));
    } else {
      ASSIGN_OR_RETURN(const std::string text, v.String());
      const size_t colon = text.rfind(':');
      const bool bare = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
      type = bare ? "" : text.substr(0, colon);
      if (bare || colon != std::string::npos) {
        const std::string number = bare ? text : text.substr(colon + 1);
        if (number.empty() || number.size() > 4 || number.find_first_not_of("0123456789") != std::string::npos ||
            std::stoi(number) < 1 || std::stoi(number) > 1024) {
          return v.Error("\"" + text + "\" is not a type with a count between 1 and 1024, such as v100:2");
        }
        count = std::stoi(number);
      }
    }
    v1::DeviceDemand& demand = *spec_.mutable_resources()->add_accelerators();
    demand.set_type(type == "any" ? "" : type);
    demand.set_count(static_cast<int32_t>(count));
    return absl::OkStatus();
  }

  absl::Status Placement(const Value& v) {
    ASSIGN_OR_RETURN(const Entries entries, Map(v, {"pack", "spread", "network"}));
    for (const auto& [key, value] : entries) {
      if (key == "network") return value.Error("is not supported yet");
      std::string word;
      RETURN_IF_ERROR(Text(value, word));
      if (word != "node" && word != "none") return value.Error("\"" + word + "\" is not known; known are: node, none");
      if (word == "none") word.clear();
      key == "pack" ? spec_.mutable_placement()->set_pack(word) : spec_.mutable_placement()->set_spread(word);
    }
    return absl::OkStatus();
  }

  absl::Status Preempt(const Value& v) {
    ASSIGN_OR_RETURN(const Entries entries, Map(v, {"notice", "signal", "grace"}));
    for (const auto& [key, value] : entries) {
      if (key == "signal") {
        RETURN_IF_ERROR(Text(value, *spec_.mutable_preempt()->mutable_signal()));
        continue;
      }
      ASSIGN_OR_RETURN(const int64_t ns, value.DurationNs());
      key == "notice" ? spec_.mutable_preempt()->set_notice_ns(ns) : spec_.mutable_preempt()->set_grace_ns(ns);
    }
    return absl::OkStatus();
  }

  absl::Status Outputs(const Value& v) {
    ASSIGN_OR_RETURN(const Entries entries, Map(v, {"stdout", "stderr"}));
    for (const auto& [key, value] : entries) {
      RETURN_IF_ERROR(Text(value, key == "stdout" ? *spec_.mutable_outputs()->mutable_stdout()
                                                  : *spec_.mutable_outputs()->mutable_stderr()));
    }
    return absl::OkStatus();
  }

  absl::Status Retry(const Value& v) {
    ASSIGN_OR_RETURN(const Entries entries, Map(v, {"max", "on", "backoff"}));
    for (const auto& [key, value] : entries) {
      if (key == "backoff") return value.Error("is not supported yet");
      if (key == "on") {
        RETURN_IF_ERROR(Texts(value, *spec_.mutable_retry()->mutable_on()));
        continue;
      }
      ASSIGN_OR_RETURN(const int64_t n, value.Int(0, 1000));
      spec_.mutable_retry()->set_max(static_cast<int32_t>(n));
    }
    return absl::OkStatus();
  }

  absl::Status Env(const Value& v) {
    ASSIGN_OR_RETURN(const Entries entries, v.Map());
    for (const auto& [key, value] : entries) RETURN_IF_ERROR(Text(value, (*spec_.mutable_env())[key]));
    return absl::OkStatus();
  }

  absl::Status Run(const Value& v) {
    auto& argv = *spec_.mutable_command()->mutable_argv();
    if (v.IsList()) return Texts(v, argv);
    std::string text;
    RETURN_IF_ERROR(Text(v, text));
    auto words = SplitWords(text);
    if (!words.ok()) return v.Error(std::string(words.status().message()));
    if (words->empty()) return v.Error("is empty");
    argv.Assign(words->begin(), words->end());
    return absl::OkStatus();
  }

  JobFile& file_;
  v1::JobSpec& spec_;
};

}  // namespace

std::string JobFile::At(const std::string& field, const std::string& message) const {
  for (std::string path = field; !path.empty();) {
    if (auto it = places.find(path); it != places.end()) return it->second + ": " + field + ": " + message;
    const size_t dot = path.rfind('.');
    path.resize(dot == std::string::npos ? 0 : dot);
  }
  return (name.empty() ? "" : name + ": ") + field + ": " + message;
}

absl::StatusOr<JobFile> ParseJobFile(const std::string& text, const std::string& file) {
  JobFile job;
  job.name = file;
  ASSIGN_OR_RETURN(const Value root, yaml::Parse(text, file));
  RETURN_IF_ERROR(Reader(job).Root(root));
  return job;
}

absl::Status SetKey(JobFile& file, const std::string& path, const std::string& value, const std::string& label) {
  std::string text;
  int depth = 0;
  for (size_t begin = 0; begin <= path.size(); ++depth) {
    const size_t dot = std::min(path.find('.', begin), path.size());
    if (dot == begin) return absl::InvalidArgumentError(label + ": \"" + path + "\" is not a key path, such as algorithm.tau");
    text += (depth == 0 ? "" : "\n") + std::string(static_cast<size_t>(depth) * 2, ' ') + path.substr(begin, dot - begin) + ":";
    begin = dot + 1;
  }
  text += " " + value + "\n";
  const auto read = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Value root, yaml::Parse(text, label));
    return Reader(file).Root(root);
  };
  const absl::Status status = read();
  if (status.ok()) {
    // The place of a flag is the flag.
    for (auto& [key, place] : file.places) {
      if (place.rfind(label + ":", 0) == 0) place = label;
    }
    return status;
  }
  std::string message(status.message());
  if (message.rfind(label, 0) == 0) {
    size_t at = label.size();
    while (at < message.size() && (message[at] == ':' || (std::isdigit(static_cast<unsigned char>(message[at])) != 0))) ++at;
    message = label + ":" + message.substr(at);
  }
  return absl::Status(status.code(), message);
}

}  // namespace sinew
