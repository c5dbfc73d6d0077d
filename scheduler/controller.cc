// SPDX-License-Identifier: Apache-2.0
#include "scheduler/controller.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "scheduler/failpoints.h"

namespace sinew {
namespace {

constexpr int kDiskErrorExit = 74;                  // EX_IOERR
constexpr int64_t kRetryCommitNs = 500'000'000;     // after a full disk

}  // namespace

struct Controller::Impl {
  struct Item {
    Event event;
    AnswerCallback answer;
    std::function<void(absl::Status)> committed;
  };

  Options options;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Store> store;
  std::vector<CommitListener*> listeners;

  mutable absl::Mutex state_mutex;  // readers of the engine against Commit

  absl::Mutex queue_mutex;
  std::deque<Item> queue ABSL_GUARDED_BY(queue_mutex);
  bool stopping ABSL_GUARDED_BY(queue_mutex) = false;

  mutable absl::Mutex health_mutex;
  absl::Status health ABSL_GUARDED_BY(health_mutex);

  AnswerToken last_token = 0;
  int64_t no_plan_before = 0;
  std::thread thread;

  void Push(Item item);
  void Loop();
  void RunBatch(std::vector<Item> batch);
  void RunPlan();
  absl::Status Keep(const Transaction& transaction, Now now);
  void Tell(const Transaction& transaction);
  void SetHealth(absl::Status status);
};

Controller::Controller(Options options, std::unique_ptr<Engine> engine, std::unique_ptr<Store> store)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  if (!impl_->options.now) impl_->options.now = [] { return Now{MonoNs(), WallNs()}; };
  impl_->engine = std::move(engine);
  impl_->store = std::move(store);
}

Controller::~Controller() { Stop(); }

void Controller::AddListener(CommitListener* listener) { impl_->listeners.push_back(listener); }

void Controller::Start() {
  impl_->thread = std::thread([this] { impl_->Loop(); });
}

void Controller::Stop() {
  {
    absl::MutexLock lock(&impl_->queue_mutex);
    impl_->stopping = true;
  }
  if (impl_->thread.joinable()) impl_->thread.join();
}

Store& Controller::store() { return *impl_->store; }

void Controller::Read(const std::function<void(const Engine&)>& read) const {
  absl::ReaderMutexLock lock(&impl_->state_mutex);
  read(*impl_->engine);
}

absl::Status Controller::WriteHealth() const {
  absl::MutexLock lock(&impl_->health_mutex);
  return impl_->health;
}

void Controller::Impl::SetHealth(absl::Status status) {
  absl::MutexLock lock(&health_mutex);
  if (health.ok() != status.ok()) {
    status.ok() ? spdlog::info("msg=\"the store takes writes again\"")
                : spdlog::error("msg=\"the store refuses writes\" why=\"{}\"", std::string(status.message()));
  }
  health = std::move(status);
}

void Controller::Impl::Push(Item item) {
  absl::Status refused;
  {
    absl::MutexLock lock(&queue_mutex);
    if (stopping) {
      refused = absl::UnavailableError("the daemon is stopping");
    } else if (queue.size() >= options.queue_limit) {
      refused = absl::ResourceExhaustedError("too many requests wait; try again in a moment");
    } else {
      queue.push_back(std::move(item));
      return;
    }
  }
  if (item.answer) {
    CallerAnswer answer;
    answer.status = refused;
    item.answer(answer);
  }
  if (item.committed) item.committed(refused);
}

void Controller::Call(Event event, AnswerCallback done) { impl_->Push({std::move(event), std::move(done), {}}); }
void Controller::Post(Event event, std::function<void(absl::Status)> committed) {
  impl_->Push({std::move(event), {}, std::move(committed)});
}

void Controller::Impl::Loop() {
  while (true) {
    std::vector<Item> batch;
    bool stop = false;
    {
      absl::MutexLock lock(&queue_mutex);
      const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(queue_mutex) { return stopping || !queue.empty(); };
      const Now now = options.now();
      int64_t wait_ns = 1'000'000'000;
      if (const auto timer = engine->NextTimer()) wait_ns = std::min(wait_ns, *timer - now.mono_ns);
      if (engine->NeedsPlan()) wait_ns = std::min(wait_ns, no_plan_before - now.mono_ns);
      if (wait_ns > 0) queue_mutex.AwaitWithTimeout(absl::Condition(&ready), absl::Nanoseconds(wait_ns));
      while (!queue.empty() && batch.size() < options.batch_limit) {
        batch.push_back(std::move(queue.front()));
        queue.pop_front();
      }
      stop = stopping && batch.empty();
    }
    if (stop) return;
    RunBatch(std::move(batch));
    if (engine->NeedsPlan() && options.now().mono_ns >= no_plan_before) RunPlan();
  }
}

absl::Status Controller::Impl::Keep(const Transaction& transaction, Now now) {
  if (transaction.NeedsCommit()) {
    const absl::Status status = store->Commit(transaction);
    if (absl::IsDataLoss(status)) {
      // What the kernel still holds of a failed write is unknown: only a restart reads what is really on the disk.
      spdlog::critical("msg=\"the disk failed; the daemon stops\" why=\"{}\"", std::string(status.message()));
      spdlog::shutdown();
      std::_Exit(kDiskErrorExit);
    }
    SetHealth(status);
    if (!status.ok()) {
      engine->Abandon(transaction);
      return status;
    }
  }
  absl::MutexLock lock(&state_mutex);
  engine->Commit(transaction, now);
  return absl::OkStatus();
}

void Controller::Impl::Tell(const Transaction& transaction) {
  for (CommitListener* listener : listeners) listener->OnCommitted(transaction, *engine);
}

void Controller::Impl::RunBatch(std::vector<Item> batch) {
  std::vector<Event> events;
  std::unordered_map<AnswerToken, size_t> waiting;
  events.reserve(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].answer) {
      const AnswerToken token = ++last_token;
      std::visit(
          [token](auto& event) {
            if constexpr (requires { event.token; }) event.token = token;
          },
          batch[i].event);
      waiting[token] = i;
    }
    events.push_back(std::move(batch[i].event));
  }
  const Now now = options.now();
  const Transaction transaction = engine->Apply(events, now);
  const absl::Status status = Keep(transaction, now);
  Failpoint("before-answer");
  if (!status.ok()) {
    for (Item& item : batch) {
      CallerAnswer refused;
      refused.status = status;
      if (item.answer) item.answer(refused);
      if (item.committed) item.committed(status);
    }
    no_plan_before = now.mono_ns + kRetryCommitNs;
    return;
  }
  for (const CallerAnswer& answer : transaction.answers) {
    if (auto it = waiting.find(answer.token); it != waiting.end()) batch[it->second].answer(answer);
  }
  for (Item& item : batch) {
    if (item.committed) item.committed(absl::OkStatus());
  }
  Failpoint("after-answer");
  Tell(transaction);
}

void Controller::Impl::RunPlan() {
  const Now now = options.now();
  const Transaction transaction = engine->Plan(now);
  if (transaction.plan_fell_back) {
    spdlog::error("msg=\"a stage failed; fifo and pack decided instead\" why=\"{}\"", transaction.plan_error);
  }
  if (!Keep(transaction, now).ok()) {
    no_plan_before = now.mono_ns + kRetryCommitNs;
    return;
  }
  Failpoint("after-plan");
  Tell(transaction);
}

}  // namespace sinew
