// SPDX-License-Identifier: Apache-2.0
// A disk that fails, by a VFS over SQLite's own that returns errors when told to.
#include <errno.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>

#include "scheduler/store/sqlite_store.h"
#include "scheduler/store/state_dir.h"

namespace sinew {
namespace {

int fail_syncs = 0, syncs = 0, fail_writes_with = 0;

struct File {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
File* Of(sqlite3_file* f) { return reinterpret_cast<File*>(f); }
const sqlite3_io_methods* Real(sqlite3_file* f) { return Of(f)->real()->pMethods; }

sqlite3_io_methods methods = {
    1,
    [](sqlite3_file* f) { return Real(f)->xClose(Of(f)->real()); },
    [](sqlite3_file* f, void* p, int n, sqlite3_int64 o) { return Real(f)->xRead(Of(f)->real(), p, n, o); },
    [](sqlite3_file* f, const void* p, int n, sqlite3_int64 o) {
      if (fail_writes_with != 0) return fail_writes_with;
      return Real(f)->xWrite(Of(f)->real(), p, n, o);
    },
    [](sqlite3_file* f, sqlite3_int64 n) { return Real(f)->xTruncate(Of(f)->real(), n); },
    [](sqlite3_file* f, int flags) {
      ++syncs;
      if (fail_syncs > 0) {
        --fail_syncs;
        return SQLITE_IOERR_FSYNC;
      }
      return Real(f)->xSync(Of(f)->real(), flags);
    },
    [](sqlite3_file* f, sqlite3_int64* n) { return Real(f)->xFileSize(Of(f)->real(), n); },
    [](sqlite3_file* f, int l) { return Real(f)->xLock(Of(f)->real(), l); },
    [](sqlite3_file* f, int l) { return Real(f)->xUnlock(Of(f)->real(), l); },
    [](sqlite3_file* f, int* out) { return Real(f)->xCheckReservedLock(Of(f)->real(), out); },
    [](sqlite3_file* f, int op, void* arg) { return Real(f)->xFileControl(Of(f)->real(), op, arg); },
    [](sqlite3_file* f) { return Real(f)->xSectorSize(Of(f)->real()); },
    [](sqlite3_file* f) { return Real(f)->xDeviceCharacteristics(Of(f)->real()); },
};

void RegisterVfs() {
  static sqlite3_vfs* base = sqlite3_vfs_find(nullptr);
  static sqlite3_vfs vfs = *base;
  vfs.zName = "failing";
  vfs.szOsFile = base->szOsFile + static_cast<int>(sizeof(File));
  vfs.xOpen = [](sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out) {
    const int rc = base->xOpen(base, name, Of(f)->real(), flags, out);
    f->pMethods = rc == SQLITE_OK ? &methods : nullptr;
    return rc;
  };
  sqlite3_vfs_register(&vfs, 0);
}

Transaction Submit(uint64_t id) {
  auto job = std::make_shared<Job>();
  job->id = {id};
  Transaction t;
  t.revision = id;
  t.jobs = {job};
  return t;
}

class DiskError : public ::testing::Test {
 protected:
  void SetUp() override {
    RegisterVfs();
    std::string pattern = ::testing::TempDir() + "/disk-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    ASSERT_TRUE(InitStateDir(dir_).ok());
    store_ = *SqliteStore::Open(DatabasePath(dir_), "failing");
    ASSERT_TRUE(store_->Commit(Submit(1)).ok());
  }
  void TearDown() override {
    fail_syncs = fail_writes_with = 0;
    store_.reset();
    std::filesystem::remove_all(dir_);
  }
  size_t JobsAfterReopening() {
    store_.reset();
    store_ = *SqliteStore::Open(DatabasePath(dir_));
    return store_->Load(0)->jobs.size();
  }
  std::string dir_;
  std::unique_ptr<SqliteStore> store_;
};

TEST_F(DiskError, D5AFailedSyncIsDataLossAndIsNotTriedAgain) {
  fail_syncs = 1;
  syncs = 0;
  const absl::Status status = store_->Commit(Submit(2));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_EQ(syncs, 1);
  fail_syncs = 0;
  const size_t jobs = JobsAfterReopening();
  EXPECT_GE(jobs, 1u) << "what was acknowledged is there";
}

TEST_F(DiskError, D5AFailedWriteIsDataLoss) {
  fail_writes_with = SQLITE_IOERR_WRITE;
  EXPECT_EQ(store_->Commit(Submit(2)).code(), absl::StatusCode::kDataLoss);
  fail_writes_with = 0;
  EXPECT_EQ(JobsAfterReopening(), 1u);
}

TEST_F(DiskError, AFullDiskRefusesOneCommitAndTheNextOneWorks) {
  fail_writes_with = SQLITE_FULL;
  EXPECT_EQ(store_->Commit(Submit(2)).code(), absl::StatusCode::kResourceExhausted);
  fail_writes_with = 0;
  EXPECT_TRUE(store_->Commit(Submit(2)).ok());
  EXPECT_TRUE(store_->Commit(Submit(3)).ok());
  EXPECT_EQ(JobsAfterReopening(), 3u);
}

TEST_F(DiskError, EachCommitIsSynced) {
  syncs = 0;
  for (uint64_t id = 2; id < 12; ++id) ASSERT_TRUE(store_->Commit(Submit(id)).ok());
  EXPECT_GE(syncs, 10);
}

}  // namespace
}  // namespace sinew
