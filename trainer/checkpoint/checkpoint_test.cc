// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"

namespace sinew::trainer {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : folder_(testing::TempDir() + "/checkpoint_" + std::to_string(::getpid())) {
    fs::remove_all(folder_);
    for (std::size_t i = 0; i < 5000; ++i) {
      center_.push_back(static_cast<float>(i) * 0.5f);
      x_.push_back(static_cast<float>(i) - 7);
      v_.push_back(-static_cast<float>(i));
    }
  }
  ~CheckpointTest() override { fs::remove_all(folder_); }

  std::string Run(int n) const { return folder_ + "/run-" + std::to_string(n); }

  static Position At(int64_t step) {
    return {.model = "lenet", .algorithm = "easgd-sync", .parameters = 5000, .samples = 60000,
            .seed = 0xffff'ffff'ffff'fffeull, .batch_size = 64, .workers = 1, .step = step, .epoch = 1,
            .epoch_step = 3, .accuracy = 0.5};
  }
  std::string Save(int run, int64_t step, int keep = 2) {
    EXPECT_TRUE(BeginCheckpoint(Run(run), step).ok());
    const std::span<const float> center[] = {center_}, own[] = {x_, v_};
    const auto first = WritePart(Run(run), step, "center.bin", center);
    const auto second = WritePart(Run(run), step, "worker-0.bin", own);
    EXPECT_TRUE(first.ok() && second.ok());
    const auto made = CommitCheckpoint(Run(run), At(step), {*first, *second}, keep);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.value_or("");
  }
  std::vector<std::string> skipped_;
  const std::string folder_;
  std::vector<float> center_, x_, v_;
};

TEST_F(CheckpointTest, GivesBackWhatWasSaved) {
  const std::string made = Save(1, 42);
  const auto found = FindCheckpoint(folder_, &skipped_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->folder, made);
  EXPECT_EQ(found->position.step, 42);
  EXPECT_EQ(found->position.seed, 0xffff'ffff'ffff'fffeull);
  EXPECT_EQ(found->position.epoch_step, 3);
  EXPECT_EQ(found->position.accuracy, 0.5);
  std::vector<float> c(5000), x(5000), v(5000);
  const std::span<float> center[] = {c}, own[] = {x, v};
  EXPECT_TRUE(ReadPart(*found, "center.bin", center).ok());
  EXPECT_TRUE(ReadPart(*found, "worker-0.bin", own).ok());
  EXPECT_EQ(c, center_);
  EXPECT_EQ(x, x_);
  EXPECT_EQ(v, v_);
  EXPECT_EQ(ReadPart(*found, "worker-1.bin", own).message(), made + " holds no worker-1.bin");
  EXPECT_EQ(ReadPart(*found, "center.bin", own).message(),
            made + "/center.bin holds 20000 bytes; the model needs 40000");
}

TEST_F(CheckpointTest, TheNewestRunAndStepWins) {
  Save(1, 900);
  Save(2, 100);
  const std::string newest = Save(10, 200, 9);
  EXPECT_EQ(FindCheckpoint(folder_, &skipped_)->folder, newest);
  EXPECT_TRUE(skipped_.empty());
}

TEST_F(CheckpointTest, KeepsTheNewestAndNoMore) {
  for (const int64_t step : {10, 20, 30}) Save(1, step, 2);
  EXPECT_EQ(*ListDir(Run(1)), (std::vector<std::string>{"step-0000000020", "step-0000000030"}));
  Save(2, 40, 2);
  EXPECT_EQ(*ListDir(Run(1)), (std::vector<std::string>{"step-0000000030"})) << "still the one before";
  Save(2, 50, 2);
  EXPECT_TRUE(ListDir(Run(1))->empty());
}

TEST_F(CheckpointTest, PassesOverWhatIsNotWhole) {
  const std::string older = Save(1, 10);
  const std::string newer = Save(1, 20);
  // One flipped bit.
  {
    std::fstream file(newer + "/worker-0.bin", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(12'345);
    file.put('\x55');
  }
  EXPECT_EQ(FindCheckpoint(folder_, &skipped_)->folder, older);
  ASSERT_EQ(skipped_.size(), 1u);
  EXPECT_EQ(skipped_[0], newer + ": " + newer + "/worker-0.bin is damaged: its CRC-32 is not the manifest's");
  // Cut short.
  fs::resize_file(newer + "/worker-0.bin", 100);
  skipped_.clear();
  EXPECT_EQ(FindCheckpoint(folder_, &skipped_)->folder, older);
  EXPECT_NE(skipped_[0].find("holds 100 bytes; its manifest says 40000"), std::string::npos) << skipped_[0];
  // A manifest that is none.
  for (const std::string text : {"", "{", "[]", "{\"format\": 2}", "{\"format\": \"x\"}", "{\"format\": 1}"}) {
    std::ofstream(newer + "/manifest.json") << text;
    skipped_.clear();
    EXPECT_EQ(FindCheckpoint(folder_, &skipped_)->folder, older) << text;
    EXPECT_EQ(skipped_.size(), 1u);
  }
  fs::remove(newer + "/manifest.json");
  EXPECT_EQ(FindCheckpoint(folder_, &skipped_)->folder, older);
  fs::remove_all(older);
  EXPECT_EQ(FindCheckpoint(folder_, &skipped_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FindCheckpoint(folder_ + "/none", &skipped_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CheckpointTest, AManifestReadsNoFileElsewhere) {
  const std::string made = Save(1, 10);
  std::string text = *ReadFile(made + "/manifest.json");
  text.replace(text.find("center.bin"), 10, "../../../x");
  std::ofstream(made + "/manifest.json") << text;
  EXPECT_FALSE(FindCheckpoint(folder_, &skipped_).ok());
}

TEST_F(CheckpointTest, WhatWasBrokenOffIsNoCheckpointAndIsOverwritten) {
  const std::string whole = Save(1, 10);
  ASSERT_TRUE(BeginCheckpoint(Run(1), 20).ok());
  const std::span<const float> center[] = {center_};
  ASSERT_TRUE(WritePart(Run(1), 20, "old.bin", center).ok());
  EXPECT_EQ(FindCheckpoint(folder_, &skipped_)->folder, whole);
  const std::string again = Save(1, 20);
  EXPECT_EQ(*ListDir(again), (std::vector<std::string>{"center.bin", "manifest.json", "worker-0.bin"}));
}

TEST_F(CheckpointTest, AWriteThatFailsLeavesTheOneBefore) {
  const std::string whole = Save(1, 10);
  ASSERT_TRUE(BeginCheckpoint(Run(1), 20).ok());
  // A limit on file sizes fails in the middle, as a full disk does.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{10'000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::span<const float> center[] = {center_};
  const auto failed = WritePart(Run(1), 20, "center.bin", center);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(failed.status().message(), "write " + Run(1) + "/step-0000000020.tmp/center.bin: File too large");
  EXPECT_EQ(FindCheckpoint(folder_, &skipped_)->folder, whole);
}

TEST(SameTraining, NamesTheFieldThatDiffers) {
  Position then{.model = "lenet", .algorithm = "easgd-sync", .parameters = 5, .samples = 6, .seed = 7, .batch_size = 8,
                .workers = 4, .step = 100};
  Position now = then;
  now.workers = 2;
  now.step = 0;
  EXPECT_TRUE(CheckSameTraining(then, now).ok());
  now.seed = 9;
  EXPECT_EQ(CheckSameTraining(then, now).message(),
            "the checkpoint was made with seed 7, this job has 9; give the old value, or start anew with "
            "checkpoint.resume: false");
}

}  // namespace
}  // namespace sinew::trainer
