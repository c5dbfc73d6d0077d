// SPDX-License-Identifier: Apache-2.0
// Workers as threads of this process, on made-up images: what they compute, keep and go on from.
#include "trainer/worker/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "trainer/model/lenet.h"

namespace sinew::trainer {
namespace {

using testing::HasSubstr;

ImageSet Images(int count, uint64_t seed) {
  std::vector<uint8_t> pixels(static_cast<std::size_t>(count) * 784), labels(static_cast<std::size_t>(count));
  uint64_t state = seed;
  for (int i = 0; i < count; ++i) {
    const int label = i % 10;
    labels[static_cast<std::size_t>(i)] = static_cast<uint8_t>(label);
    for (int p = 0; p < 784; ++p) {  // a bar for each class, in noise
      state = state * 6364136223846793005u + 1442695040888963407u;
      const int noise = static_cast<int>(state >> 58);
      pixels[static_cast<std::size_t>(i * 784 + p)] = static_cast<uint8_t>(p / 78 == label ? 200 + noise / 2 : noise);
    }
  }
  return ImageSet(28, 28, std::move(pixels), std::move(labels));
}

const Dataset& Data() {
  static const Dataset* const data = [] {
    auto* made = new Dataset{Images(330, 1), Images(100, 2), {}};
    made->normalisation = made->train.Measure();
    return made;
  }();
  return *data;
}

// What a gang of threads shares. Of no use once a rank is gone, as the real one.
class Table {
 public:
  explicit Table(int size) : size_(size) {}

  absl::Status AllGather(int rank, std::span<const float> mine, std::span<float> all) {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (gone_) return absl::UnavailableError("a peer is gone");
    parts_.resize(mine.size() * static_cast<std::size_t>(size_));
    std::copy(mine.begin(), mine.end(), parts_.begin() + static_cast<std::ptrdiff_t>(mine.size()) * rank);
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++round_;
      done_ = parts_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round || gone_; });
    if (round_ == round) return absl::UnavailableError("a peer is gone");
    std::copy(done_.begin(), done_.end(), all.begin());
    return absl::OkStatus();
  }

  void Leave() {
    std::lock_guard lock(mutex_);
    gone_ = true;
    changed_.notify_all();
  }

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float> parts_, done_;
  int arrived_ = 0, round_ = 0;
  bool gone_ = false;
};

class Seat final : public Group {
 public:
  // Leaves, as a killed process would, when it is asked for the exchange after `last`.
  Seat(Table& table, int rank, int size, int last) : table_(table), rank_(rank), size_(size), last_(last) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  absl::Status AllGather(std::span<const float> mine, std::span<float> all) override {
    if (last_-- == 0) {
      table_.Leave();
      return absl::UnavailableError("killed");
    }
    return table_.AllGather(rank_, mine, all);
  }

 private:
  Table& table_;
  const int rank_, size_;
  int last_;
};

struct Ended {
  Outcome outcome = Outcome::kFailed;
  std::vector<float> center;
  std::vector<std::string> said;
  v1::Progress last;
};

class WorkerTest : public testing::Test {
 protected:
  WorkerTest() {
    dir_ = testing::TempDir() + "/worker_XXXXXX";
    EXPECT_NE(::mkdtemp(dir_.data()), nullptr);
    v1::TrainSpec& train = settings_.train;
    train.set_model("lenet");
    train.set_epochs(2);
    train.set_batch_size(16);
    train.set_seed(7);
    train.mutable_algorithm()->set_name("easgd-sync");
    train.mutable_algorithm()->set_beta(0.9);
    train.mutable_algorithm()->set_tau(2);
    train.mutable_algorithm()->set_learning_rate(0.05);
    train.mutable_algorithm()->set_momentum(0.9);
    train.mutable_checkpoint()->set_keep(2);
  }
  ~WorkerTest() override { std::filesystem::remove_all(dir_); }

  // stop_at: rank 0 is asked to stop when it looks for the stop_at-th time, which it does in each exchange. last: after so
  // many calls of AllGather rank 1 dies.
  std::vector<Ended> Run(int workers, int64_t stop_at = -1, int last = -1) {
    Table table(workers);
    std::vector<Ended> ends(static_cast<std::size_t>(workers));
    std::vector<std::thread> threads;
    for (int r = 0; r < workers; ++r) {
      threads.emplace_back([&, r] {
        Ended& end = ends[static_cast<std::size_t>(r)];
        Settings settings = settings_;
        settings.rank = r;
        settings.workers = workers;
        LeNet model;
        Seat seat(table, r, workers, r == 1 ? last : -1);
        int asked = 0;
        Hooks hooks;
        hooks.say = [&](const std::string& line) { end.said.push_back(line); };
        hooks.report = [&](const v1::Progress& progress) { end.last = progress; };
        hooks.stop_asked = [&] { return r == 0 && stop_at >= 0 && ++asked >= stop_at; };
        Worker worker(settings, model, Data(), seat, hooks);
        end.outcome = worker.Run();
        end.center = worker.center();
        if (end.outcome != Outcome::kDone) table.Leave();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return ends;
  }

  std::string dir_;
  Settings settings_;
};

TEST_F(WorkerTest, AllReplicasOfTheCenterHaveTheSameBitsAndItLearns) {
  settings_.train.set_epochs(5);
  const auto ends = Run(3);
  for (const Ended& end : ends) {
    EXPECT_EQ(end.outcome, Outcome::kDone) << (end.said.empty() ? "" : end.said.back());
    EXPECT_EQ(end.center, ends[0].center);
    EXPECT_EQ(end.last.phase(), "done");
    EXPECT_EQ(end.last.step(), end.last.total_steps());
  }
  EXPECT_GT(ends[0].last.accuracy(), 0.9) << "the bars are easy";
  EXPECT_THAT(ends[0].said.back(), HasSubstr("done: test accuracy"));
  EXPECT_TRUE(ends[1].said.empty()) << "one worker speaks for all";
}

TEST_F(WorkerTest, TheSameSeedGivesTheSameBitsAndAnotherDoesNot) {
  const auto first = Run(2), second = Run(2);
  EXPECT_EQ(first[0].center, second[0].center);
  settings_.train.set_seed(8);
  EXPECT_NE(Run(2)[0].center, first[0].center);
}

TEST_F(WorkerTest, StoppedAndResumedGivesTheBitsOfOneThatWasNot) {
  settings_.train.set_epochs(3);
  const auto whole = Run(2);
  ASSERT_EQ(whole[0].outcome, Outcome::kDone);

  settings_.checkpoint_dir = dir_ + "/run-1";
  const auto stopped = Run(2, 8);
  EXPECT_EQ(stopped[0].outcome, Outcome::kStopped);
  EXPECT_EQ(stopped[1].outcome, Outcome::kPeerLost) << "only the one that was asked says so";
  EXPECT_THAT(stopped[0].said.back(), HasSubstr("asked to stop; the checkpoint is " + dir_ + "/run-1/step-"));

  settings_.checkpoint_dir = dir_ + "/run-2";
  settings_.resume_from = dir_;
  const auto resumed = Run(2);
  ASSERT_EQ(resumed[0].outcome, Outcome::kDone) << resumed[0].said.back();
  EXPECT_THAT(resumed[0].said.front(), HasSubstr("goes on from " + dir_ + "/run-1/step-"));
  EXPECT_EQ(resumed[0].center, whole[0].center);
  EXPECT_EQ(resumed[1].center, whole[0].center);
}

TEST_F(WorkerTest, AnotherNumberOfWorkersGoesOnFromTheCenter) {
  settings_.checkpoint_dir = dir_ + "/run-1";
  ASSERT_EQ(Run(3, 3)[0].outcome, Outcome::kStopped);
  settings_.checkpoint_dir = dir_ + "/run-2";
  settings_.resume_from = dir_;
  const auto resumed = Run(2);
  EXPECT_EQ(resumed[0].outcome, Outcome::kDone) << resumed[0].said.back();
  EXPECT_EQ(resumed[0].center, resumed[1].center);
  EXPECT_GT(resumed[0].last.accuracy(), 0.2);
}

TEST_F(WorkerTest, APeerThatDiesEndsTheOthersAsLost) {
  const auto ends = Run(3, -1, 5);
  EXPECT_EQ(ends[0].outcome, Outcome::kPeerLost);
  EXPECT_EQ(ends[2].outcome, Outcome::kPeerLost);
  EXPECT_THAT(ends[0].said.back(), HasSubstr("lost a peer at step"));
}

TEST_F(WorkerTest, ACheckpointOfOtherTrainingIsRefused) {
  settings_.checkpoint_dir = dir_ + "/run-1";
  ASSERT_EQ(Run(1)[0].outcome, Outcome::kDone);
  settings_.resume_from = dir_;
  settings_.train.set_seed(99);
  const auto ends = Run(1);
  EXPECT_EQ(ends[0].outcome, Outcome::kFailed);
  EXPECT_THAT(ends[0].said.back(), HasSubstr("seed"));
}

TEST_F(WorkerTest, ADamagedCheckpointIsPassedOverForTheOneBefore) {
  settings_.checkpoint_dir = dir_ + "/run-1";
  settings_.train.set_epochs(3);
  const auto whole = Run(1);
  ASSERT_EQ(whole[0].outcome, Outcome::kDone);
  std::vector<std::string> steps;
  for (const auto& entry : std::filesystem::directory_iterator(settings_.checkpoint_dir)) steps.push_back(entry.path());
  std::sort(steps.begin(), steps.end());
  ASSERT_EQ(steps.size(), 2u) << "keep: 2";
  std::fstream(steps.back() + "/center.bin", std::ios::in | std::ios::out | std::ios::binary).seekp(1000).write("x", 1);
  settings_.checkpoint_dir = dir_ + "/run-2";
  settings_.resume_from = dir_;
  const auto resumed = Run(1);
  ASSERT_EQ(resumed[0].outcome, Outcome::kDone) << resumed[0].said.back();
  EXPECT_THAT(resumed[0].said[0], HasSubstr("passed over a checkpoint"));
  EXPECT_THAT(resumed[0].said[1], HasSubstr("goes on from " + steps.front()));
  EXPECT_EQ(resumed[0].center, whole[0].center);
}

TEST_F(WorkerTest, ACheckpointThatCannotBeWrittenEndsTheJobOnlyAtTheEnd) {
  std::ofstream(dir_ + "/file") << "in the way";
  settings_.checkpoint_dir = dir_ + "/file/run-1";
  const auto ends = Run(2);
  EXPECT_EQ(ends[0].outcome, Outcome::kFailed);
  ASSERT_GE(ends[0].said.size(), 3u);
  EXPECT_THAT(ends[0].said[1], HasSubstr("could not be written"));
  EXPECT_THAT(ends[0].said[1], HasSubstr("training goes on"));
  EXPECT_THAT(ends[0].said.back(), HasSubstr("could not be written"));
  EXPECT_EQ(ends[1].outcome, Outcome::kFailed);
}

}  // namespace
}  // namespace sinew::trainer
