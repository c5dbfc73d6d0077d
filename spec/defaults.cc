// SPDX-License-Identifier: Apache-2.0
#include "spec/defaults.h"

namespace sinew {

void ApplyDefaults(v1::JobSpec& spec) {
  if (spec.kind() == v1::JOB_KIND_UNSPECIFIED) {
    if (spec.has_command()) spec.set_kind(v1::COMMAND);
    if (spec.has_train()) spec.set_kind(v1::TRAIN);
  }
  v1::WorkerCount& workers = *spec.mutable_workers();
  if (workers.min() == 0) workers.set_min(workers.max() == 0 ? 1 : workers.max());
  if (workers.max() == 0) workers.set_max(workers.min());
  if (spec.resources().milli_cpus() == 0) spec.mutable_resources()->set_milli_cpus(kDefaultMilliCpus);
  if (spec.preempt().grace_ns() == 0) spec.mutable_preempt()->set_grace_ns(kDefaultGraceNs);
  if (spec.queue().empty()) spec.set_queue("default");
  if (spec.pools().empty()) spec.add_pools("default");
  if (spec.kind() != v1::TRAIN) return;

  v1::TrainSpec& train = *spec.mutable_train();
  if (train.model().empty()) train.set_model("lenet");
  if (train.data().format().empty()) train.mutable_data()->set_format("idx");
  v1::Algorithm& algorithm = *train.mutable_algorithm();
  if (algorithm.name().empty()) algorithm.set_name("easgd-sync");
  if (algorithm.beta() == 0) algorithm.set_beta(0.9);
  if (algorithm.tau() == 0) algorithm.set_tau(1);
  if (algorithm.learning_rate() == 0) algorithm.set_learning_rate(0.05);
  if (train.epochs() == 0) train.set_epochs(1);
  if (train.batch_size() == 0) train.set_batch_size(64);
  if (train.checkpoint().dir().empty()) train.mutable_checkpoint()->set_dir(kDefaultCheckpointDir);
  if (train.checkpoint().keep() == 0) train.mutable_checkpoint()->set_keep(2);
}

std::string ExpandPattern(const std::string& pattern, uint64_t job, int32_t rank, uint32_t attempt) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'j') {
      out += std::to_string(job);
    } else if (next == 'r') {
      out += std::to_string(rank);
    } else if (next == 'a') {
      out += std::to_string(attempt);
    } else if (next == '%') {
      out += '%';
    } else {
      out += pattern[i];
      continue;
    }
    ++i;
  }
  return out;
}

std::string CheckpointFolder(const v1::JobSpec& spec, uint64_t job) {
  if (!spec.has_train()) return "";
  std::string dir = spec.train().checkpoint().dir();
  if (dir.empty()) dir = kDefaultCheckpointDir;
  while (!dir.empty() && dir.back() == '/') dir.pop_back();
  // Two jobs never share a folder: their attempts bear the same names.
  if (dir.find("%j") == std::string::npos) dir += "/%j";
  dir = ExpandPattern(dir, job, 0, 0);
  return dir[0] == '/' ? dir : spec.workdir() + "/" + dir;
}

}  // namespace sinew
