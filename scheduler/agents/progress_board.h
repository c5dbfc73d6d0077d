// SPDX-License-Identifier: Apache-2.0
// The newest progress of each rank of each job, as reported. Not part of the cluster's state: nothing decides by it
// here, and losing the last seconds of it loses no job. Kept for running jobs and for the newest ended ones.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "absl/synchronization/mutex.h"
#include "cluster/ids.h"
#include "proto/sinew/v1/job.pb.h"

namespace sinew {

struct JobProgress {
  uint32_t run = 0;
  std::map<int32_t, v1::Progress> ranks;

  // Of the whole job: the slowest rank's step and epoch, the sum of all rates, the mean loss, what rank 0 says else.
  v1::Progress Total() const;
};

class ProgressBoard {
 public:
  explicit ProgressBoard(size_t jobs_kept = 10'000) : jobs_kept_(jobs_kept) {}

  // A report of a run older than one seen is dropped.
  void Report(const TaskKey& key, const v1::Progress& progress);
  JobProgress Of(JobId job) const;
  // A job that is shown for the first time after a restart.
  void Restore(JobId job, JobProgress progress);
  // Jobs with news since the last call.
  std::set<JobId> TakeChanged();

 private:
  const size_t jobs_kept_;
  mutable absl::Mutex mutex_;
  std::map<JobId, JobProgress> jobs_ ABSL_GUARDED_BY(mutex_);
  std::set<JobId> changed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sinew
