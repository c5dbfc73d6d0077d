// SPDX-License-Identifier: Apache-2.0
#include "trainer/worker/worker.h"

#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/status_macros.h"
#include "trainer/algorithm/easgd.h"
#include "trainer/data/sampler.h"

namespace sinew::trainer {
namespace {

constexpr std::size_t kSaid = 4;  // floats behind x: exchange number, save, stop, unused
constexpr int64_t kReportNs = 250'000'000;
constexpr int64_t kEvaluateAtOnce = 500;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A 32-bit number as two floats that hold it exactly, and back.
float Low(uint32_t u) { return static_cast<float>(u & 0xffff); }
float High(uint32_t u) { return static_cast<float>(u >> 16); }
uint32_t Joined(float low, float high) { return static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16; }

uint32_t CrcOf(const void* data, std::size_t size) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), size));
}

std::string Format(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

Worker::Worker(const Settings& settings, Model& model, const Dataset& data, Group& group, Hooks hooks)
    : settings_(settings), model_(model), data_(data), group_(group), hooks_(std::move(hooks)), n_(model.parameters()) {
  const v1::TrainSpec& train = settings.train;
  const std::size_t workers = static_cast<std::size_t>(group.size());
  mine_.resize(n_ + kSaid);
  all_.resize(workers * mine_.size());
  v_.assign(n_, 0);
  gradient_.assign(n_, 0);
  center_.resize(n_);
  const std::size_t image = static_cast<std::size_t>(model.rows()) * static_cast<std::size_t>(model.columns());
  const std::size_t most = static_cast<std::size_t>(std::max<int64_t>(train.batch_size(), kEvaluateAtOnce));
  pixels_.resize(most * image);
  labels_.resize(most);
  at_.model = train.model();
  at_.algorithm = train.algorithm().name();
  at_.parameters = static_cast<int64_t>(n_);
  at_.samples = data.train.size();
  at_.seed = train.seed();
  at_.batch_size = train.batch_size();
  at_.workers = group.size();
  steps_per_epoch_ = StepsPerEpoch(data.train.size(), group.size(), train.batch_size());
}

absl::StatusOr<std::vector<float>> Worker::Tell(float a, float b, float c, float d) {
  const float mine[] = {a, b, c, d};
  std::vector<float> all(4 * static_cast<std::size_t>(group_.size()));
  RETURN_IF_ERROR(group_.AllGather(mine, all));
  return all;
}

absl::Status Worker::Resume() {
  const std::span<float> x(mine_.data(), n_);
  model_.Initialise(settings_.train.seed(), x);
  std::copy(x.begin(), x.end(), center_.begin());
  if (settings_.resume_from.empty()) return absl::OkStatus();

  std::vector<std::string> skipped;
  absl::StatusOr<Found> found = FindCheckpoint(settings_.resume_from, &skipped);
  for (const std::string& why : skipped) hooks_.say("passed over a checkpoint: " + why);
  if (!found.ok() && found.status().code() != absl::StatusCode::kNotFound) return found.status();
  // All must go on from the same one.
  const std::string name = found.ok() ? found->folder.substr(settings_.resume_from.size()) : "";
  const uint32_t sum = CrcOf(name.data(), name.size());
  ASSIGN_OR_RETURN(const std::vector<float> sums, Tell(Low(sum), High(sum)));
  for (std::size_t r = 0; r < sums.size() / 4; ++r) {
    if (Joined(sums[4 * r], sums[4 * r + 1]) == Joined(sums[0], sums[1])) continue;
    return absl::FailedPreconditionError("workers 0 and " + std::to_string(r) + " see different checkpoints below " +
                                         settings_.resume_from + "; it must be on a file system that all nodes share");
  }
  if (!found.ok()) return absl::OkStatus();

  RETURN_IF_ERROR(CheckSameTraining(found->position, at_));
  const std::span<float> center[] = {center_};
  RETURN_IF_ERROR(ReadPart(*found, "center.bin", center));
  const int workers = at_.workers;
  at_ = found->position;
  checkpoint_ = found->folder;
  saved_step_ = at_.step;
  if (at_.workers == workers) {
    const std::span<float> own[] = {x, v_};
    RETURN_IF_ERROR(ReadPart(*found, "worker-" + std::to_string(group_.rank()) + ".bin", own));
  } else {
    // Another number of workers deals other cards: each begins at the center, and the epoch at its first step.
    std::copy(center_.begin(), center_.end(), x.begin());
    at_.workers = workers;
    at_.epoch_step = 0;
  }
  if (Leads()) {
    hooks_.say("goes on from " + found->folder + ", after step " + std::to_string(at_.step) + ", epoch " +
               std::to_string(at_.epoch + 1) + " from step " + std::to_string(at_.epoch_step));
  }
  return absl::OkStatus();
}

absl::Status Worker::Step(int64_t epoch_step, const std::vector<int64_t>& samples) {
  const v1::TrainSpec& train = settings_.train;
  const int64_t begin = std::min<int64_t>(epoch_step * train.batch_size(), static_cast<int64_t>(samples.size()));
  const int64_t count = std::min<int64_t>(train.batch_size(), static_cast<int64_t>(samples.size()) - begin);
  const std::span<float> x(mine_.data(), n_);
  if (count > 0) {
    const std::size_t image = static_cast<std::size_t>(model_.rows()) * static_cast<std::size_t>(model_.columns());
    const std::span<float> pixels(pixels_.data(), static_cast<std::size_t>(count) * image);
    const std::span<uint8_t> labels(labels_.data(), static_cast<std::size_t>(count));
    data_.train.Batch(std::span(samples).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)),
                      data_.normalisation, pixels, labels);
    loss_sum_ += model_.Gradient(x, pixels, labels, gradient_).loss_sum;
    images_ += count;
  }
  if ((at_.step + 1) % train.algorithm().tau() == 0) {
    RETURN_IF_ERROR(Exchange(count > 0));
  } else if (count > 0) {
    LocalStep({static_cast<float>(train.algorithm().learning_rate()), static_cast<float>(train.algorithm().momentum())},
              gradient_, v_, x);
  }
  ++at_.step;
  ++at_.epoch_step;
  if (NowNs() - reported_ns_ > kReportNs) Report("training");
  return absl::OkStatus();
}

absl::Status Worker::Exchange(bool has_gradient) {
  const v1::Algorithm& algorithm = settings_.train.algorithm();
  const int64_t number = (at_.step + 1) / algorithm.tau();
  mine_[n_] = static_cast<float>(number % (1 << 24));
  const bool time = Leads() && settings_.train.checkpoint().interval_ns() > 0 &&
                    NowNs() - saved_ns_ >= settings_.train.checkpoint().interval_ns();
  mine_[n_ + 1] = time || hooks_.checkpoint_asked() ? 1 : 0;
  mine_[n_ + 2] = hooks_.stop_asked() ? 1 : 0;
  RETURN_IF_ERROR(group_.AllGather(mine_, all_));

  std::vector<std::span<const float>> all_x;
  for (int r = 0; r < group_.size(); ++r) {
    const float* of_rank = all_.data() + static_cast<std::size_t>(r) * mine_.size();
    if (of_rank[n_] != mine_[n_]) {
      return absl::InternalError("worker " + std::to_string(r) + " is at exchange " +
                                 Format("%.0f", of_rank[n_]) + ", this one at " + std::to_string(number));
    }
    save_asked_ |= of_rank[n_ + 1] > 0;
    stop_agreed_ |= of_rank[n_ + 2] > 0;
    all_x.emplace_back(of_rank, n_);
  }
  const std::span<float> x(mine_.data(), n_);
  const float alpha = static_cast<float>(MovingRate(algorithm.beta(), group_.size()));
  if (has_gradient) {
    ElasticStep({static_cast<float>(algorithm.learning_rate()), static_cast<float>(algorithm.momentum())}, alpha,
                gradient_, center_, v_, x);
  } else {
    ElasticPull(alpha, center_, x);
  }
  CenterStep(alpha, all_x, center_);
  return absl::OkStatus();
}

absl::Status Worker::Evaluate() {
  Report("evaluating");
  const std::size_t image = static_cast<std::size_t>(model_.rows()) * static_cast<std::size_t>(model_.columns());
  std::vector<int64_t> items;
  int64_t correct = 0;
  for (int64_t begin = group_.rank(); begin < data_.test.size();) {
    items.clear();
    for (; begin < data_.test.size() && static_cast<int64_t>(items.size()) < kEvaluateAtOnce; begin += group_.size()) {
      items.push_back(begin);
    }
    const std::span<float> pixels(pixels_.data(), items.size() * image);
    const std::span<uint8_t> labels(labels_.data(), items.size());
    data_.test.Batch(items, data_.normalisation, pixels, labels);
    correct += model_.Evaluate(center_, pixels, labels).correct;
  }
  const uint32_t mine = static_cast<uint32_t>(correct);
  ASSIGN_OR_RETURN(const std::vector<float> counts, Tell(Low(mine), High(mine)));
  int64_t sum = 0;
  for (std::size_t r = 0; r < counts.size() / 4; ++r) sum += Joined(counts[4 * r], counts[4 * r + 1]);
  at_.accuracy = static_cast<double>(sum) / static_cast<double>(data_.test.size());
  return absl::OkStatus();
}

absl::Status Worker::SaveParts(std::vector<FileSum>* files) {
  const std::string& folder = settings_.checkpoint_dir;
  const absl::Status begun = Leads() ? BeginCheckpoint(folder, at_.step) : absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<float> began, Tell(begun.ok()));
  if (!begun.ok()) return begun;
  if (began[0] == 0) return absl::AbortedError("worker 0 could not begin it");

  const std::string name = "worker-" + std::to_string(group_.rank()) + ".bin";
  const std::span<const float> own[] = {std::span<const float>(mine_.data(), n_), v_};
  const absl::StatusOr<FileSum> part = WritePart(folder, at_.step, name, own);
  const uint32_t crc = part.ok() ? part->crc : 0;
  ASSIGN_OR_RETURN(const std::vector<float> wrote, Tell(part.ok(), Low(crc), High(crc)));
  if (!part.ok()) return part.status();
  for (std::size_t r = 0; r < wrote.size() / 4; ++r) {
    if (wrote[4 * r] == 0) return absl::AbortedError("worker " + std::to_string(r) + " could not write its part");
    files->push_back({"worker-" + std::to_string(r) + ".bin", part->bytes, Joined(wrote[4 * r + 1], wrote[4 * r + 2])});
  }
  return absl::OkStatus();
}

absl::Status Worker::Save(bool must) {
  saved_ns_ = NowNs();
  save_asked_ = false;
  if (settings_.checkpoint_dir.empty() || saved_step_ == at_.step) return absl::OkStatus();
  Report("checkpointing");
  std::vector<FileSum> files;
  absl::Status saved = SaveParts(&files);
  if (absl::IsUnavailable(saved)) return saved;
  if (saved.ok() && Leads()) {
    const std::span<const float> center[] = {center_};
    const auto part = WritePart(settings_.checkpoint_dir, at_.step, "center.bin", center);
    saved = part.status();
    if (part.ok()) {
      files.push_back(*part);
      const auto folder = CommitCheckpoint(settings_.checkpoint_dir, at_, files, settings_.train.checkpoint().keep());
      saved = folder.status();
      if (folder.ok()) checkpoint_ = *folder;
    }
  }
  ASSIGN_OR_RETURN(const std::vector<float> committed, Tell(saved.ok()));
  if (saved.ok() && committed[0] == 0) saved = absl::AbortedError("worker 0 could not write it");
  if (saved.ok()) {
    saved_step_ = at_.step;
    return absl::OkStatus();
  }
  const std::string why = "the checkpoint at step " + std::to_string(at_.step) +
                          " could not be written: " + std::string(saved.message());
  if (must) return absl::FailedPreconditionError(why);
  hooks_.say(why + "; training goes on");
  return absl::OkStatus();
}

void Worker::Report(const std::string& phase) {
  const int64_t now = NowNs();
  if (images_ > 0) {
    loss_ = loss_sum_ / static_cast<double>(images_);
    speed_ = static_cast<double>(images_) * 1e9 / static_cast<double>(std::max<int64_t>(now - reported_ns_, 1));
  }
  loss_sum_ = 0;
  images_ = 0;
  reported_ns_ = now;
  v1::Progress progress;
  progress.set_step(at_.step);
  progress.set_total_steps(at_.step - at_.epoch_step + (settings_.train.epochs() - at_.epoch) * steps_per_epoch_);
  progress.set_epoch(static_cast<double>(at_.epoch) +
                     static_cast<double>(at_.epoch_step) / static_cast<double>(steps_per_epoch_));
  progress.set_total_epochs(settings_.train.epochs());
  progress.set_loss(loss_);
  progress.set_items_per_second(speed_);
  progress.set_phase(phase);
  progress.set_checkpoint(checkpoint_);
  if (at_.accuracy >= 0) {
    progress.set_accuracy(at_.accuracy);
    progress.set_has_accuracy(true);
  }
  hooks_.report(progress);
}

absl::Status Worker::Train() {
  RETURN_IF_ERROR(Resume());
  saved_ns_ = reported_ns_ = NowNs();
  const int64_t epochs = settings_.train.epochs();
  while (at_.epoch < epochs) {
    const std::vector<int64_t> samples =
        DealEpoch(settings_.train.seed(), at_.epoch, data_.train.size(), group_.rank(), group_.size());
    const int64_t begun = NowNs(), first = at_.epoch_step;
    while (at_.epoch_step < steps_per_epoch_) {
      RETURN_IF_ERROR(Step(at_.epoch_step, samples));
      if (stop_agreed_) {
        RETURN_IF_ERROR(Save(true));
        return absl::CancelledError("asked to stop; the checkpoint is " + checkpoint_);
      }
      if (save_asked_) RETURN_IF_ERROR(Save(false));
    }
    const double seconds = static_cast<double>(NowNs() - begun) / 1e9;
    const double images = static_cast<double>(samples.size()) - static_cast<double>(first * at_.batch_size);
    RETURN_IF_ERROR(Evaluate());
    ++at_.epoch;
    at_.epoch_step = 0;
    if (Leads()) {
      hooks_.say("epoch " + std::to_string(at_.epoch) + "/" + std::to_string(epochs) + ": loss " +
                 Format("%.4f", loss_) + ", test accuracy " + Format("%.4f", at_.accuracy) + ", " +
                 Format("%.0f", images / std::max(seconds, 1e-9)) +
                 " images/s a worker");
    }
    RETURN_IF_ERROR(Save(at_.epoch == epochs));
  }
  Report("done");
  return absl::OkStatus();
}

Outcome Worker::Run() {
  const absl::Status end = Train();
  switch (end.code()) {
    case absl::StatusCode::kOk:
      if (Leads()) {
        char bits[16];
        std::snprintf(bits, sizeof bits, "%08x", CrcOf(center_.data(), center_.size() * sizeof(float)));
        hooks_.say("done: test accuracy " + Format("%.4f", at_.accuracy) + ", center " + bits +
                   (checkpoint_.empty() ? "" : ", checkpoint " + checkpoint_));
      }
      return Outcome::kDone;
    case absl::StatusCode::kUnavailable:
      hooks_.say("lost a peer at step " + std::to_string(at_.step) + ": " + std::string(end.message()));
      return Outcome::kPeerLost;
    case absl::StatusCode::kCancelled:
      hooks_.say(std::string(end.message()));
      return hooks_.stop_asked() ? Outcome::kStopped : Outcome::kPeerLost;
    default:
      hooks_.say(std::string(end.message()));
      return Outcome::kFailed;
  }
}

}  // namespace sinew::trainer
