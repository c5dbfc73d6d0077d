// SPDX-License-Identifier: Apache-2.0
// How other threads reach the agent's one loop: they post what is to be done there.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "base/unique_fd.h"

namespace sinew::agent {

class Mailbox {
 public:
  using Work = std::function<void()>;
  static constexpr size_t kLimit = 4096;

  Mailbox() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  // Waits while kLimit posts are not done yet. False once the mailbox is closed: the work is then never done.
  bool Post(Work work) {
    {
      absl::MutexLock lock(&mutex_);
      const auto room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || work_.size() < kLimit; };
      mutex_.Await(absl::Condition(&room));
      if (closed_) return false;
      work_.push_back(std::move(work));
    }
    const uint64_t one = 1;
    if (::write(wake_.get(), &one, sizeof(one)) < 0) {
      // The counter is full, so the loop wakes anyway.
    }
    return true;
  }

  // Posts, and waits until it was done. False as above, also when the mailbox is closed meanwhile.
  bool Call(const Work& work) {
    struct Outcome {
      absl::Mutex mutex;
      bool ran = false, over = false;
    };
    // Work that is dropped wakes the caller too: it is the end of the ticket that counts.
    struct Ticket {
      explicit Ticket(std::shared_ptr<Outcome> whose) : outcome(std::move(whose)) {}
      Ticket(const Ticket&) = delete;
      std::shared_ptr<Outcome> outcome;
      ~Ticket() {
        absl::MutexLock lock(&outcome->mutex);
        outcome->over = true;
      }
    };
    auto outcome = std::make_shared<Outcome>();
    if (!Post([&work, ticket = std::make_shared<Ticket>(outcome)] {
          work();
          absl::MutexLock lock(&ticket->outcome->mutex);
          ticket->outcome->ran = true;
        })) {
      return false;
    }
    absl::MutexLock lock(&outcome->mutex);
    outcome->mutex.Await(absl::Condition(&outcome->over));
    return outcome->ran;
  }

  // The loop's side. Poll fd() for POLLIN.
  int fd() const { return wake_.get(); }
  void Run() {
    uint64_t count = 0;
    if (::read(wake_.get(), &count, sizeof(count)) < 0) {
      // Nobody wrote; the queue is looked at all the same.
    }
    std::deque<Work> batch;
    {
      absl::MutexLock lock(&mutex_);
      batch.swap(work_);
    }
    for (Work& work : batch) work();
  }
  void Close() {
    std::deque<Work> dropped;
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    dropped.swap(work_);
  }

 private:
  UniqueFd wake_;
  absl::Mutex mutex_;
  std::deque<Work> work_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sinew::agent
