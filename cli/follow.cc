// SPDX-License-Identifier: Apache-2.0
#include "cli/follow.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "cli/exit_code.h"
#include "cli/follow_view.h"
#include "cli/options.h"
#include "spec/reason_text.h"

namespace sinew::cli {
namespace {

constexpr int64_t kPatienceNs = 60'000'000'000;    // without a word from the daemon
constexpr int64_t kLogsLateNs = 15'000'000'000;    // logs still coming after the job ended

volatile std::sig_atomic_t interrupted = 0;
void OnSignal(int) { interrupted = 1; }

void CatchInterrupts() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESETHAND;  // the second one ends the program
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

void Pause(int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Whether the same question may have another answer soon.
bool Passing(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable || status.code() == absl::StatusCode::kUnknown ||
         status.code() == absl::StatusCode::kInternal || status.code() == absl::StatusCode::kCancelled;
}

// State that threads share with the loop. Threads may outlive the loop, so it is held by all of them.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<v1::Job> news;
  std::optional<absl::Status> failed;
  bool away = false;                   // the daemon does not answer
  std::mutex output;
  std::atomic<int> logs_open{0};
  std::atomic<bool> ended{false};
};

void WatchUntilEnd(Client& client, const std::string& name, const std::shared_ptr<Shared>& shared) {
  int64_t heard = MonoNs(), pause_ms = 100;
  bool ended = false;
  while (!ended) {
    const absl::Status status = client.Watch(name, 0, [&](const v1::Job& job) {
      std::lock_guard lock(shared->mutex);
      shared->news = job;
      shared->away = false;
      ended = IsEnd(job.state());
      heard = MonoNs();
      pause_ms = 100;
      shared->changed.notify_all();
      return !ended;
    });
    if (ended) return;
    std::lock_guard lock(shared->mutex);
    if ((!status.ok() && !Passing(status)) || MonoNs() - heard > kPatienceNs) {
      shared->failed = status.ok() ? absl::UnavailableError("the daemon stopped answering") : status;
      shared->changed.notify_all();
      return;
    }
    shared->away = !status.ok();
    shared->changed.notify_all();
    Pause(pause_ms);
    pause_ms = std::min<int64_t>(pause_ms * 2, 2000);
  }
}

// One of the two outputs of one run. A stream that breaks is read again from the start, less what was printed.
void PumpLog(Client& client, const std::string& name, uint32_t run, bool errors, bool prefixed,
             const std::shared_ptr<Shared>& shared) {
  LogPrinter printer(prefixed, errors ? STDERR_FILENO : STDOUT_FILENO);
  std::map<int, size_t> printed;
  int64_t heard = MonoNs();
  int refusals = 0;
  for (;;) {
    v1::ReadLogsRequest request;
    request.set_name(name);
    request.set_rank(-1);
    request.set_run(run);
    request.set_follow(true);
    request.set_errors(errors);
    std::map<int, size_t> seen;
    const absl::Status status = client.ReadLogs(request, [&](const v1::LogChunk& chunk) {
      heard = MonoNs();
      size_t& at = seen[chunk.rank()];
      size_t& done = printed[chunk.rank()];
      const size_t skip = at < done ? std::min(done - at, chunk.data().size()) : 0;
      at += chunk.data().size();
      if (skip == chunk.data().size()) return true;
      v1::LogChunk rest = chunk;
      rest.set_data(chunk.data().substr(skip));
      done += rest.data().size();
      std::lock_guard lock(shared->output);
      printer.Take(rest);
      return true;
    });
    if (status.ok()) break;
    // Before the first task started there may be no log to read; after the end there may never be one.
    if (!Passing(status) && (++refusals > 50 || (shared->ended && refusals > 5))) break;
    if (MonoNs() - heard > kPatienceNs) break;
    Pause(Passing(status) ? 300 : 100);
  }
  std::lock_guard lock(shared->output);
  printer.Finish();
  --shared->logs_open;
}

}  // namespace

int ExitCodeOfJob(const v1::Job& job) {
  if (job.state() == v1::COMPLETED) return kDone;
  if (job.state() == v1::FAILED && job.exit_code() > 0 && job.exit_code() < 256) return job.exit_code();
  return kNegative;
}

void LogPrinter::Write(const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(out_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

void LogPrinter::Take(const v1::LogChunk& chunk) {
  if (!prefixed_) return Write(chunk.data());
  std::string& open = ranks_[chunk.rank()].open;
  open += chunk.data();
  const size_t end = open.rfind('\n');
  if (end == std::string::npos && open.size() < (1 << 16)) return;
  const std::string margin = "[" + std::to_string(chunk.rank()) + "] ";
  std::string text;
  for (size_t begin = 0; begin < open.size();) {
    const size_t line = open.find('\n', begin);
    if (line == std::string::npos && end != std::string::npos) {
      open.erase(0, begin);
      Write(text);
      return;
    }
    const size_t stop = std::min(line, open.size());
    text += margin + open.substr(begin, stop - begin) + "\n";
    begin = stop + 1;
  }
  open.clear();
  Write(text);
}

void LogPrinter::Finish() {
  for (auto& [rank, state] : ranks_) {
    if (!state.open.empty()) Write("[" + std::to_string(rank) + "] " + state.open + "\n");
    state.open.clear();
  }
}

absl::StatusOr<int> Follow(Client& client, const v1::Job& submitted) {
  CatchInterrupts();
  const auto shared = std::make_shared<Shared>();
  const std::string name = submitted.name();
  std::thread([&client, name, shared] { WatchUntilEnd(client, name, shared); }).detach();

  const bool command = submitted.spec().kind() == v1::COMMAND;
  const bool prefixed = submitted.spec().workers().max() > 1;
  // A redrawn view and the output of a command would write over each other.
  FollowView view(IsTerminal(STDERR_FILENO) && !command, TerminalWidth());
  v1::Job job = submitted;
  uint32_t logged_run = 0;
  bool away = false;
  for (;;) {
    {
      std::unique_lock lock(shared->mutex);
      shared->changed.wait_for(lock, std::chrono::milliseconds(100));
      if (shared->news) job = *std::exchange(shared->news, std::nullopt);
      if (shared->failed) {
        view.Close();
        return absl::Status(shared->failed->code(), "following " + name + " failed, and the job goes on without it: " +
                                                        std::string(shared->failed->message()));
      }
      away = shared->away;
    }
    if (interrupted != 0) {
      view.Close();
      const std::string id = name.substr(name.find('/') + 1);
      std::fprintf(stderr, "%s keeps running; `sinew cancel %s` stops it\n", name.c_str(), id.c_str());
      return kInterrupted;
    }
    const bool ended = IsEnd(job.state());
    if (command && job.run() > logged_run && (ended || job.state() == v1::RUNNING || job.state() == v1::STOPPING)) {
      logged_run = job.run();
      for (const bool errors : {false, true}) {
        ++shared->logs_open;
        std::thread([&client, name, shared, run = job.run(), errors, prefixed] {
          PumpLog(client, name, run, errors, prefixed, shared);
        }).detach();
      }
    }
    if (ended) break;
    std::lock_guard lock(shared->output);
    view.Show(job, away, WallNs(), MonoNs());
  }
  shared->ended = true;
  view.Close();
  for (const int64_t limit = MonoNs() + kLogsLateNs; shared->logs_open > 0 && MonoNs() < limit && interrupted == 0;) Pause(10);
  if (command) job.clear_log_tail();  // it was printed
  std::lock_guard lock(shared->output);
  const std::string text = EndText(job);
  std::fputs(text.c_str(), command ? stderr : stdout);
  std::fflush(stdout);
  return ExitCodeOfJob(job);
}

}  // namespace sinew::cli
