// SPDX-License-Identifier: Apache-2.0
#include "scheduler/store/backup.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "scheduler/engine/testing.h"
#include "scheduler/store/sqlite_store.h"
#include "scheduler/store/state_dir.h"

namespace sinew {
namespace {

using testing::Bench;
using testing::Register;
using testing::Spec;

class BackupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/backup-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    ASSERT_TRUE(InitStateDir(root_ + "/state").ok());
    store_ = *SqliteStore::Open(DatabasePath(root_ + "/state"));
    Keep(bench_.Do({Register("n1", 2)}));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Keep(const Transaction& t) {
    if (t.NeedsCommit()) { ASSERT_TRUE(store_->Commit(t).ok()); }
  }
  void SubmitJobs(int count) {
    for (int i = 0; i < count; ++i) {
      SubmitEvent event;
      event.submitter = {1000, 100, "ann"};
      event.spec = Spec(1);
      event.spec.body = std::string(2000, 'b');
      Keep(bench_.Do({event}));
    }
  }
  std::string root_;
  Bench bench_;
  std::unique_ptr<SqliteStore> store_;
};

TEST_F(BackupTest, ACopyHoldsEverythingAndIsOneFile) {
  SubmitJobs(20);
  ASSERT_TRUE(store_->Backup(root_ + "/copy").ok());
  const auto facts = CheckState(root_ + "/copy");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->jobs, 20);
  EXPECT_EQ(facts->live_jobs, 20);
  EXPECT_EQ(facts->nodes, 1);
  EXPECT_EQ(facts->revision, bench_.Job({20})->revision);
  EXPECT_EQ(facts->cluster_id, store_->cluster_id());
  for (const char* suffix : {"-wal", "-shm", "-journal"})
    EXPECT_FALSE(std::filesystem::exists(root_ + "/copy" + suffix)) << suffix;
  const auto restored = RestoreState(root_ + "/copy", root_ + "/other");
  ASSERT_TRUE(restored.ok()) << restored.status();
  auto other = *SqliteStore::Open(DatabasePath(root_ + "/other"));
  const auto state = *other->Load(100);
  ASSERT_EQ(state.jobs.size(), 20u);
  EXPECT_EQ(state.last_job_id, 1'000'000u) << "jobs 21 and up may run somewhere";
  EXPECT_EQ(state.jobs[7]->spec, bench_.Job(state.jobs[7]->id)->spec);
  SubmitJobs(1);
  EXPECT_TRUE(other->Commit(bench_.Do({Register("n2", 0)})).ok()) << "it takes writes";
}

TEST_F(BackupTest, IsAMomentOfTheStateWhileCommitsGoOn) {
  SubmitJobs(300);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) SubmitJobs(1);
  });
  for (int i = 0; i < 10; ++i) {
    const std::string path = root_ + "/copy" + std::to_string(i);
    ASSERT_TRUE(store_->Backup(path).ok());
    const auto facts = CheckState(path);
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->revision, static_cast<uint64_t>(facts->jobs) + 1) << "each commit wrote one job";
  }
  stop = true;
  writer.join();
}

TEST_F(BackupTest, RestoreOverwritesNothing) {
  SubmitJobs(1);
  ASSERT_TRUE(store_->Backup(root_ + "/copy").ok());
  SubmitJobs(1);
  EXPECT_EQ(RestoreState(root_ + "/copy", root_ + "/state").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(store_->Load(100)->jobs.size(), 2u);
  std::filesystem::create_directories(root_ + "/odd");
  std::ofstream(DatabasePath(root_ + "/odd") + "-wal") << "of another";
  EXPECT_EQ(RestoreState(root_ + "/copy", root_ + "/odd").status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(BackupTest, DamageIsFoundAndNothingIsMadeOfIt) {
  SubmitJobs(200);
  ASSERT_TRUE(store_->Backup(root_ + "/copy").ok());
  const auto size = static_cast<int64_t>(std::filesystem::file_size(root_ + "/copy"));
  int found = 0;
  constexpr int kTries = 40;
  for (int i = 0; i < kTries; ++i) {
    std::filesystem::copy_file(root_ + "/copy", root_ + "/bad", std::filesystem::copy_options::overwrite_existing);
    std::fstream bad(root_ + "/bad", std::ios::in | std::ios::out | std::ios::binary);
    bad.seekp(size * i / kTries);
    bad << std::string(4096, static_cast<char>(0xa5));
    bad.close();
    const auto facts = RestoreState(root_ + "/bad", root_ + "/fresh");
    if (!facts.ok()) {
      ++found;
      EXPECT_EQ(facts.status().code(), absl::StatusCode::kDataLoss) << facts.status();
      EXPECT_FALSE(std::filesystem::exists(DatabasePath(root_ + "/fresh")));
    }
    std::filesystem::remove_all(root_ + "/fresh");
  }
  EXPECT_GE(found, kTries * 9 / 10);
  std::filesystem::resize_file(root_ + "/bad", size / 2);
  EXPECT_FALSE(CheckState(root_ + "/bad").ok()) << "cut";
  std::ofstream(root_ + "/text") << "hello";
  EXPECT_EQ(CheckState(root_ + "/text").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(CheckState(root_ + "/none").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sinew
