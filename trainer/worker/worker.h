// SPDX-License-Identifier: Apache-2.0
// One worker of synchronous EASGD with a replicated center variable (trainer/algorithm/easgd.h): its steps, exchanges,
// evaluations and checkpoints. With the same seed, data, number of workers and processor kind, the center has the same
// bits after every step, also across a stop and a resume.
//
// Threads: one; the hooks are called on it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/sinew/v1/job.pb.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/data/dataset.h"
#include "trainer/exchange/group.h"
#include "trainer/model/model.h"
#include "trainer/worker/settings.h"

namespace sinew::trainer {

struct Hooks {
  std::function<void(const v1::Progress&)> report = [](const v1::Progress&) {};
  std::function<void(const std::string&)> say = [](const std::string&) {};  // a line for the job's log
  std::function<bool()> stop_asked = [] { return false; };
  std::function<bool()> checkpoint_asked = [] { return false; };  // true once
};

// Exit codes of the program (sysexits.h; 128 + SIGTERM).
enum class Outcome { kDone = 0, kFailed = 1, kPeerLost = 75, kStopped = 143 };

class Worker {
 public:
  Worker(const Settings& settings, Model& model, const Dataset& data, Group& group, Hooks hooks);

  // Trains to the end, or until something stops it; the last line said says what.
  Outcome Run();

  const std::vector<float>& center() const { return center_; }

 private:
  // UNAVAILABLE: a peer is gone. Other errors: this worker cannot go on.
  absl::Status Train();
  absl::Status Resume();
  absl::Status Step(int64_t epoch_step, const std::vector<int64_t>& samples);
  absl::Status Exchange(bool has_gradient);
  absl::Status Evaluate();
  // OK also when it could not be written, unless `must`; then the job has nothing to show.
  absl::Status Save(bool must);
  absl::Status SaveParts(std::vector<FileSum>* files);
  // Four small numbers of each rank, rank after rank.
  absl::StatusOr<std::vector<float>> Tell(float a, float b = 0, float c = 0, float d = 0);
  void Report(const std::string& phase);
  bool Leads() const { return group_.rank() == 0; }

  const Settings& settings_;
  Model& model_;
  const Dataset& data_;
  Group& group_;
  const Hooks hooks_;
  const std::size_t n_;

  std::vector<float> mine_;  // x, and behind it what is said in an exchange
  std::vector<float> all_;   // everyone's
  std::vector<float> v_, gradient_, center_;
  std::vector<float> pixels_;
  std::vector<uint8_t> labels_;

  Position at_;
  int64_t steps_per_epoch_ = 0;
  bool stop_agreed_ = false, save_asked_ = false;  // what all know since the last exchange
  int64_t saved_step_ = -1, saved_ns_ = 0;
  std::string checkpoint_;
  // Since the last report.
  double loss_sum_ = 0, loss_ = 0, speed_ = 0;
  int64_t images_ = 0, reported_ns_ = 0;
};

}  // namespace sinew::trainer
