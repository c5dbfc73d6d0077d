// SPDX-License-Identifier: Apache-2.0
#include "scheduler/controller.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "absl/synchronization/notification.h"
#include "policies/registry.h"
#include "scheduler/engine/testing.h"
#include "scheduler/store/sqlite_store.h"
#include "scheduler/store/state_dir.h"

namespace sinew {
namespace {

std::unique_ptr<Engine> NewEngine(SqliteStore& store) {
  auto engine = std::make_unique<Engine>(EngineOptions{}, *Pipeline::Make(Registry::WithBuiltIns(), DefaultPolicy()));
  auto restored = store.Load(1000);
  if (!restored.ok()) std::abort();
  engine->Restore(*std::move(restored), {1, 1});
  return engine;
}

SubmitEvent Submission(const std::string& request) {
  SubmitEvent event;
  event.request_id = request;
  event.submitter.uid = 5;
  event.spec = testing::Spec(1);
  event.spec.name = request;
  return event;
}

// Submits and cancels from four threads until killed; writes "A <request> <job>" or "C <job>" after each answer.
[[noreturn]] void Child(const std::string& dir, int round, int out) {
  auto opened = SqliteStore::Open(DatabasePath(dir));
  if (!opened.ok()) _exit(9);
  auto engine = NewEngine(**opened);
  Controller controller({}, std::move(engine), *std::move(opened));
  controller.Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0;; ++i) {
        absl::Notification done;
        const std::string request = std::to_string(round) + "-" + std::to_string(t) + "-" + std::to_string(i);
        JobId job;
        controller.Call(Submission(request), [&](const CallerAnswer& answer) {
          if (answer.status.ok()) {
            const std::string line = "A " + request + " " + std::to_string(answer.job.value) + "\n";
            if (::write(out, line.data(), line.size()) < 0) _exit(8);
          }
          job = answer.job;
          done.Notify();
        });
        done.WaitForNotification();
        if (i % 3 != 0) continue;
        absl::Notification cancelled;
        CancelEvent cancel;
        cancel.caller_uid = 5;
        cancel.job = job;
        controller.Call(cancel, [&](const CallerAnswer& answer) {
          if (answer.status.ok()) {
            const std::string line = "C " + std::to_string(job.value) + "\n";
            if (::write(out, line.data(), line.size()) < 0) _exit(8);
          }
          cancelled.Notify();
        });
        cancelled.WaitForNotification();
      }
    });
  }
  for (auto& t : threads) t.join();
  _exit(0);
}

class CrashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/crash-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    ASSERT_TRUE(InitStateDir(dir_).ok());
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  // Runs one daemon's life: until `failpoint` kills it, or this does after `ms`.
  void Life(int round, const std::string& failpoint, int ms) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      ::close(ends[0]);
      if (!failpoint.empty()) ::setenv("SINEW_FAILPOINTS", failpoint.c_str(), 1);
      Child(dir_, round, ends[1]);
    }
    ::close(ends[1]);
    std::thread killer([&] {
      if (failpoint.empty()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        ::kill(pid, SIGKILL);
      }
    });
    std::string text;
    char buffer[65536];
    for (ssize_t n; (n = ::read(ends[0], buffer, sizeof(buffer))) > 0;) text.append(buffer, n);
    ::close(ends[0]);
    killer.join();
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << failpoint << " status " << status;
    std::istringstream lines(text);
    std::string kind, request;
    uint64_t job = 0;
    while (lines >> kind) {
      if (kind == "A") {
        lines >> request >> job;
        acknowledged_[request] = job;
      } else {
        lines >> job;
        cancelled_.insert(job);
      }
    }
  }

  void Check() {
    auto store = SqliteStore::Open(DatabasePath(dir_));
    ASSERT_TRUE(store.ok()) << store.status();
    auto restored = (*store)->Load(1'000'000);
    ASSERT_TRUE(restored.ok()) << restored.status();
    std::map<uint64_t, JobPtr> jobs;
    std::map<std::string, uint64_t> by_name;
    for (const JobPtr& job : restored->jobs) {
      jobs[job->id.value] = job;
      EXPECT_TRUE(by_name.emplace(job->spec.name, job->id.value).second) << "two jobs for " << job->spec.name;
      // Whole or not at all: a job is there together with its log and its request.
      EXPECT_FALSE((*store)->JobLog(job->id, 0, 10)->empty());
    }
    EXPECT_EQ(restored->requests.size(), jobs.size());
    for (const auto& [request, id] : acknowledged_) {
      ASSERT_TRUE(jobs.contains(id)) << request << " was acknowledged as jobs/" << id << " and is gone";
      EXPECT_EQ(jobs[id]->spec.name, request);
    }
    for (const uint64_t id : cancelled_) EXPECT_EQ(jobs[id]->state, JobState::kCancelled);
    // A repeated request hears the first answer.
    auto engine = NewEngine(**store);
    int asked = 0;
    for (const auto& [request, id] : acknowledged_) {
      if (++asked > 20) break;
      SubmitEvent event = Submission(request);
      event.token = 1;
      const std::vector<Event> events = {event};
      const Transaction t = engine->Apply(events, {2, 2});
      engine->Commit(t, {2, 2});
      EXPECT_EQ(t.answers.at(0).job.value, id);
    }
  }

  std::string dir_;
  std::map<std::string, uint64_t> acknowledged_;
  std::set<uint64_t> cancelled_;
};

TEST_F(CrashTest, D1NothingAcknowledgedIsLostUnderKillsAtAnyMoment) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937 rng(seed);
  for (int round = 0; round < 25; ++round) {
    Life(round, "", 5 + static_cast<int>(rng() % 60));
    if (HasFatalFailure()) return;
    Check();
  }
  EXPECT_GT(acknowledged_.size(), 50u);
}

TEST_F(CrashTest, D3NothingAcknowledgedIsLostAtAnyFailpoint) {
  int round = 0;
  for (const char* point : {"before-commit", "mid-commit", "after-commit", "before-answer", "after-answer", "after-plan"}) {
    for (const char* when : {"=crash@1", "=crash@7"}) {
      if (std::string(point) == "after-plan" && std::string(when) != "=crash@1") continue;
      Life(++round, std::string(point) + when, 0);
      if (HasFatalFailure()) return;
      Check();
    }
  }
}

// A store that says no when told to.
class FullStore final : public Store {
 public:
  absl::Status Commit(const Transaction&) override {
    return full ? absl::ResourceExhaustedError("no space left on the disk") : absl::OkStatus();
  }
  absl::StatusOr<RestoredState> Load(size_t) override { return RestoredState(); }
  absl::StatusOr<std::optional<Job>> FindJob(JobId) override { return std::optional<Job>(); }
  absl::StatusOr<std::vector<Job>> EndedJobs(std::optional<uint32_t>, uint64_t, int) override {
    return std::vector<Job>();
  }
  absl::StatusOr<std::vector<LogLine>> JobLog(JobId, uint64_t, int) override { return std::vector<LogLine>(); }
  absl::StatusOr<int> Prune(int64_t, int) override { return 0; }
  absl::Status Backup(const std::string&) override { return absl::UnimplementedError("keeps nothing"); }
  std::atomic<bool> full = false;
};

TEST(Controller, AFullDiskRefusesWritesChangesNothingAndHeals) {
  auto store = std::make_unique<FullStore>();
  FullStore* disk = store.get();
  auto engine = std::make_unique<Engine>(EngineOptions{}, *Pipeline::Make(Registry::WithBuiltIns(), DefaultPolicy()));
  engine->Restore({}, {1, 1});
  Controller controller({}, std::move(engine), std::move(store));
  controller.Start();
  const auto submit = [&](const std::string& request) {
    absl::Notification done;
    absl::Status status;
    controller.Call(Submission(request), [&](const CallerAnswer& answer) {
      status = answer.status;
      done.Notify();
    });
    done.WaitForNotification();
    return status;
  };
  EXPECT_TRUE(submit("a").ok());
  disk->full = true;
  EXPECT_EQ(submit("b").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(controller.WriteHealth().ok());
  controller.Read([](const Engine& e) { EXPECT_EQ(e.state().jobs().size(), 1u); });
  disk->full = false;
  EXPECT_TRUE(submit("b").ok());
  EXPECT_TRUE(controller.WriteHealth().ok());
  controller.Stop();
  EXPECT_EQ(submit("c").code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace sinew
