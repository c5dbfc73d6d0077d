// SPDX-License-Identifier: Apache-2.0
// The thread that owns the engine. It drains its queue, applies the batch, makes one commit, and only then answers
// callers and tells listeners; then, when something changed, it runs a pass, commits its plan and tells listeners.
// Nothing acknowledged is ever lost: an answer means that the store has it.
//
// Threads: every public method may be called from any thread. Callbacks and listeners run on the controller's thread
// and must not block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "scheduler/engine/engine.h"
#include "scheduler/store/store.h"

namespace sinew {

class CommitListener {
 public:
  virtual ~CommitListener() = default;
  // After a transaction became durable and memory took it. The engine may be read without a lock here.
  virtual void OnCommitted(const Transaction& transaction, const Engine& engine) = 0;
};

class Controller {
 public:
  struct Options {
    size_t queue_limit = 65'536;   // events waiting; more are refused with RESOURCE_EXHAUSTED
    size_t batch_limit = 1'024;    // events in one commit
    std::function<Now()> now;      // defaults to the system's clocks
  };

  Controller(Options options, std::unique_ptr<Engine> engine, std::unique_ptr<Store> store);
  ~Controller();  // stops the thread after the batch at hand

  void AddListener(CommitListener* listener);  // before Start
  void Start();
  void Stop();

  // `done` hears OK with the engine's answer once it is durable, or why not: the engine's own refusal,
  // RESOURCE_EXHAUSTED (queue or disk full; nothing was changed), UNAVAILABLE (stopping).
  using AnswerCallback = std::function<void(const CallerAnswer&)>;
  // event: one with a token, which is set here.
  void Call(Event event, AnswerCallback done);

  // Events nobody waits for an answer to. `committed` (may be null) hears OK once the event's batch is durable, so that
  // a report can be acknowledged; on an error the sender repeats it.
  void Post(Event event, std::function<void(absl::Status)> committed = nullptr);

  // Runs `read` under a shared lock. Keep it short and copy JobPtr/NodePtr out.
  void Read(const std::function<void(const Engine&)>& read) const;

  // Healthy = the last commit succeeded. While it is not, writes are refused and tried again by themselves.
  absl::Status WriteHealth() const;

  Store& store();  // for reads of history (thread-safe)

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sinew
