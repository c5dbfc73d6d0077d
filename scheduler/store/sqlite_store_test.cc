// SPDX-License-Identifier: Apache-2.0
#include "scheduler/store/sqlite_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "scheduler/engine/dump.h"
#include "scheduler/engine/testing.h"
#include "scheduler/store/state_dir.h"

namespace sinew {
namespace {

using testing::Bench;
using testing::Register;
using testing::Spec;

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/store-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    dir_ += "/state";
    ASSERT_TRUE(InitStateDir(dir_).ok());
  }
  void TearDown() override { std::filesystem::remove_all(std::filesystem::path(dir_).parent_path()); }
  std::unique_ptr<SqliteStore> Open() {
    auto store = SqliteStore::Open(DatabasePath(dir_));
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  std::string dir_;
};

TEST_F(StoreTest, GivesBackEveryFieldOfWhatTheEngineMade) {
  Bench b;
  auto store = Open();
  const auto keep = [&](const Transaction& t) {
    if (t.NeedsCommit()) { ASSERT_TRUE(store->Commit(t).ok()); }
  };
  keep(b.Do({Register("n1", 2), Register("n2", 1)}));
  JobSpec spec = Spec(2, 1);
  spec.rendezvous = true;
  spec.colocation = Colocation::kDistinctNodes;
  spec.body = std::string("\0binary\xff", 8);
  SubmitEvent submit;
  submit.token = 1;
  submit.request_id = "r1";
  submit.submitter = {1000, 100, "ann"};
  submit.spec = spec;
  keep(b.Do({submit, submit}));
  keep(b.Plan());
  TaskReadyEvent ready;
  ready.node = {0};
  ready.key = {{1}, 1, 0};
  ready.values = {{"k", std::string("\0v", 2)}};
  ready.free_port = 4711;
  keep(b.Do({ready}));
  CancelEvent cancel;
  cancel.token = 3;
  cancel.caller_is_operator = true;
  SubmitEvent other = submit;
  other.request_id = "r2";
  cancel.job = {2};
  keep(b.Do({other, cancel}));

  store.reset();
  store = Open();
  auto restored = store->Load(100);
  ASSERT_TRUE(restored.ok()) << restored.status();
  ASSERT_EQ(restored->jobs.size(), b.engine->state().jobs().size());
  for (const JobPtr& job : restored->jobs) {
    EXPECT_EQ(*job, *b.Job(job->id)) << Dump(*job) << "\n" << Dump(*b.Job(job->id));
  }
  ASSERT_EQ(restored->nodes.size(), 2u);
  for (const NodePtr& node : restored->nodes) EXPECT_EQ(*node, *b.engine->state().FindNode(node->id));
  EXPECT_EQ(restored->requests.size(), 2u);
  EXPECT_EQ(restored->last_job_id, 2u);
  const auto log = store->JobLog({1}, 0, 100);
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->at(0).record.text, "submitted");
  EXPECT_GE(log->size(), 2u);
  EXPECT_EQ(store->EndedJobs(1000, 0, 10)->size(), 1u);
  EXPECT_EQ(store->EndedJobs(1001, 0, 10)->size(), 0u);
  EXPECT_EQ(store->EndedJobs(std::nullopt, 2, 10)->size(), 0u);
  EXPECT_TRUE(store->FindJob({2})->has_value());
  EXPECT_FALSE(store->FindJob({3})->has_value());
}

TEST_F(StoreTest, ANewerStateIsRefusedAndLeftAlone) {
  {
    auto db = *Database::Open(DatabasePath(dir_), Database::Mode::kReadWrite, "");
    ASSERT_TRUE(db->Execute("UPDATE meta SET value='99' WHERE key='schema'").ok());
  }
  const auto store = SqliteStore::Open(DatabasePath(dir_));
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(store.status().message()).find("newer"), std::string::npos);
}

TEST_F(StoreTest, AMissingStateIsNeverMadeSilently) {
  const auto lock = LockStateDir(dir_ + "/elsewhere");
  EXPECT_EQ(lock.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(lock.status().message()).find("--init"), std::string::npos);
  EXPECT_EQ(InitStateDir(dir_).code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(StoreTest, D8ASecondDaemonHearsThePidOfTheFirst) {
  auto first = LockStateDir(dir_);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = LockStateDir(dir_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(second.status().message()).find(std::to_string(::getpid())), std::string::npos);
  first->reset();
  EXPECT_TRUE(LockStateDir(dir_).ok());
}

TEST_F(StoreTest, ADamagedFileIsDataLossNotACrash) {
  {
    auto store = Open();
  }
  std::filesystem::resize_file(DatabasePath(dir_), 5000);
  const auto store = SqliteStore::Open(DatabasePath(dir_));
  EXPECT_FALSE(store.ok() && (*store)->Load(1).ok());
}

TEST_F(StoreTest, PrunesJobsThatEndedLongAgoWithTheirEvents) {
  Bench b;
  auto store = Open();
  const auto keep = [&](const Transaction& t) { ASSERT_TRUE(store->Commit(t).ok()); };
  for (int i = 0; i < 10; ++i) {
    SubmitEvent submit;
    submit.submitter = {1000, 100, "ann"};
    submit.spec = Spec(1);
    keep(b.Do({submit}));
  }
  const auto cancel = [&](uint64_t id) {
    CancelEvent event;
    event.caller_is_operator = true;
    event.job = {id};
    keep(b.Do({event}));
  };
  for (uint64_t id = 2; id <= 6; ++id) cancel(id);
  b.Pass(3600 * testing::kSecond);
  cancel(1);  // an old number, ended late
  cancel(7);
  const int64_t before = b.now.wall_ns - 60 * testing::kSecond;
  EXPECT_EQ(*store->Prune(before - 7200 * testing::kSecond, 100), 0);
  int deleted = 0;
  for (int i = 0; i < 6; ++i) deleted += *store->Prune(before, 2);  // some at a time, and from the beginning again
  EXPECT_EQ(deleted, 5);
  EXPECT_EQ(*store->Prune(before, 100), 0);
  for (uint64_t id = 1; id <= 10; ++id) {
    const bool old = id >= 2 && id <= 6;
    EXPECT_EQ(store->FindJob({id})->has_value(), !old) << id;
    EXPECT_EQ(store->JobLog({id}, 0, 100)->empty(), old) << id;
  }
  EXPECT_EQ(store->Load(100)->jobs.size(), 5u);
  EXPECT_EQ(store->Load(100)->last_job_id, 10u);
}

}  // namespace
}  // namespace sinew
