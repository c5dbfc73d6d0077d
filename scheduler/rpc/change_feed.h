// SPDX-License-Identifier: Apache-2.0
// Wakes watchers of a job when it, or its progress, changed. Threads: any.
#pragma once

#include <cstdint>
#include <map>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "cluster/ids.h"
#include "scheduler/controller.h"

namespace sinew {

class ChangeFeed final : public CommitListener {
 public:
  void OnCommitted(const Transaction& transaction, const Engine&) override {
    for (const JobPtr& job : transaction.jobs) Touch(job->id);
  }
  void Touch(JobId job) {
    absl::MutexLock lock(&mutex_);
    if (auto it = watched_.find(job); it != watched_.end()) ++it->second.version;
  }
  void Close() {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }

  class Watch {
   public:
    Watch(ChangeFeed& feed, JobId job) : feed_(feed), job_(job) {
      absl::MutexLock lock(&feed_.mutex_);
      ++feed_.watched_[job_].watchers;
    }
    ~Watch() {
      absl::MutexLock lock(&feed_.mutex_);
      if (auto it = feed_.watched_.find(job_); --it->second.watchers == 0) feed_.watched_.erase(it);
    }
    // False when nothing changed in that time.
    bool Wait(absl::Duration patience) {
      absl::MutexLock lock(&feed_.mutex_);
      const auto news = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return feed_.closed_ || feed_.watched_.at(job_).version != seen_;
      };
      const bool changed = feed_.mutex_.AwaitWithTimeout(absl::Condition(&news), patience);
      seen_ = feed_.watched_.at(job_).version;
      return changed;
    }
    bool closed() const {
      absl::MutexLock lock(&feed_.mutex_);
      return feed_.closed_;
    }

   private:
    ChangeFeed& feed_;
    JobId job_;
    uint64_t seen_ = 0;
  };

 private:
  struct Entry {
    uint64_t version = 1;
    int watchers = 0;
  };
  absl::Mutex mutex_;
  std::map<JobId, Entry> watched_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sinew
