// SPDX-License-Identifier: Apache-2.0
#include "scheduler/agents/progress_board.h"

#include <algorithm>

namespace sinew {

v1::Progress JobProgress::Total() const {
  v1::Progress total;
  if (ranks.empty()) return total;
  total = ranks.begin()->second;
  double rate = 0, loss = 0;
  int with_loss = 0;
  for (const auto& [rank, p] : ranks) {
    rate += p.items_per_second();
    total.set_step(std::min(total.step(), p.step()));
    total.set_epoch(std::min(total.epoch(), p.epoch()));
    if (p.loss() != 0) {
      loss += p.loss();
      ++with_loss;
    }
    if (p.has_accuracy() && !total.has_accuracy()) {
      total.set_has_accuracy(true);
      total.set_accuracy(p.accuracy());
    }
    if (total.checkpoint().empty()) total.set_checkpoint(p.checkpoint());
  }
  total.set_items_per_second(rate);
  if (with_loss > 0) total.set_loss(loss / with_loss);
  return total;
}

void ProgressBoard::Report(const TaskKey& key, const v1::Progress& progress) {
  absl::MutexLock lock(&mutex_);
  JobProgress& job = jobs_[key.job];
  if (key.run < job.run) return;
  if (key.run > job.run) {
    job = JobProgress{};
    job.run = key.run;
  }
  job.ranks[key.rank] = progress;
  changed_.insert(key.job);
  // The oldest jobs have the lowest ids.
  while (jobs_.size() > jobs_kept_) jobs_.erase(jobs_.begin());
}

JobProgress ProgressBoard::Of(JobId job) const {
  absl::MutexLock lock(&mutex_);
  auto it = jobs_.find(job);
  return it == jobs_.end() ? JobProgress{} : it->second;
}

void ProgressBoard::Restore(JobId job, JobProgress progress) {
  absl::MutexLock lock(&mutex_);
  jobs_.emplace(job, std::move(progress));
}

std::set<JobId> ProgressBoard::TakeChanged() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(changed_, {});
}

}  // namespace sinew
