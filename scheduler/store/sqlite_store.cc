// SPDX-License-Identifier: Apache-2.0
#include "scheduler/store/sqlite_store.h"

#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "scheduler/failpoints.h"
#include "scheduler/store/record.h"

namespace sinew {
namespace {

constexpr char kPragmas[] =
    "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
    "PRAGMA trusted_schema=OFF; PRAGMA cache_size=-16384;";

constexpr char kSchema[] = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE job(id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, ended INTEGER NOT NULL, spec BLOB NOT NULL,
                 record BLOB NOT NULL);
CREATE INDEX job_ended ON job(ended, id);
CREATE INDEX job_of_user ON job(uid, ended, id);
CREATE TABLE node(id INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE log(job INTEGER NOT NULL, revision INTEGER NOT NULL, seq INTEGER NOT NULL, record BLOB NOT NULL,
                 PRIMARY KEY(job, revision, seq)) WITHOUT ROWID;
CREATE TABLE request(uid INTEGER NOT NULL, id TEXT NOT NULL, job INTEGER NOT NULL, wall_ns INTEGER NOT NULL,
                     PRIMARY KEY(uid, id)) WITHOUT ROWID;
CREATE INDEX request_age ON request(wall_ns);
CREATE TABLE stage_state(stage TEXT PRIMARY KEY, version INTEGER NOT NULL, bytes BLOB NOT NULL) WITHOUT ROWID;
)sql";

constexpr int64_t kRequestLifeNs = 7LL * 24 * 3600 * 1'000'000'000;

absl::StatusOr<std::string> Meta(Database& db, const std::string& key) {
  ASSIGN_OR_RETURN(Statement get, db.Prepare("SELECT value FROM meta WHERE key=?"));
  get.Bind(1, key);
  ASSIGN_OR_RETURN(const bool found, get.Step());
  std::string value = found ? get.Text(0) : "";
  get.Reset();
  return value;
}

absl::StatusOr<Job> JobFromRow(const Statement& row) {
  return DecodeJob({static_cast<uint64_t>(row.Int(0))}, row.Text(1), row.Text(2));
}

}  // namespace

absl::Status SqliteStore::Create(const std::string& path) {
  ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Mode::kCreate, ""));
  ASSIGN_OR_RETURN(std::string id, ReadFile("/proc/sys/kernel/random/uuid"));
  while (!id.empty() && id.back() == '\n') id.pop_back();
  RETURN_IF_ERROR(db->Execute("PRAGMA synchronous=FULL;"));
  return db->Execute(absl::StrCat("BEGIN;", kSchema, "INSERT INTO meta VALUES('schema','", kSchemaVersion,
                                  "'),('cluster_id','", id, "'),('revision','0'),('last_job','0');COMMIT;"));
}

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path, const std::string& vfs,
                                                               Mode mode) {
  ASSIGN_OR_RETURN(auto db, Database::Open(path, mode, vfs));
  RETURN_IF_ERROR(db->Execute(mode == Mode::kReadOnly ? "PRAGMA trusted_schema=OFF;" : kPragmas));
  ASSIGN_OR_RETURN(const std::string schema, Meta(*db, "schema"));
  const int version = std::atoi(schema.c_str());
  if (version > kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the state was written by a newer sinewd (schema ", version, "; this one knows ", kSchemaVersion,
        "): start that version again, or restore a backup from before the upgrade"));
  }
  if (version < 1) return absl::DataLossError(absl::StrCat(path, " is no state of Sinew"));
  ASSIGN_OR_RETURN(std::string cluster_id, Meta(*db, "cluster_id"));
  std::unique_ptr<SqliteStore> store(new SqliteStore(std::move(db)));
  store->cluster_id_ = std::move(cluster_id);
  return store;
}

absl::Status SqliteStore::Commit(const Transaction& transaction) {
  absl::MutexLock lock(&mutex_);
  Failpoint("before-commit");
  absl::Status status = database_->Execute("BEGIN IMMEDIATE");
  if (status.ok()) status = Write(transaction);
  if (status.ok()) {
    Failpoint("mid-commit");
    status = database_->Execute("COMMIT");
  }
  if (!status.ok()) {
    (void)database_->Execute("ROLLBACK");
    return status;
  }
  Failpoint("after-commit");
  return status;
}

absl::Status SqliteStore::Write(const Transaction& t) {
  Database& db = *database_;
  uint64_t newest_job = 0;
  if (!t.jobs.empty()) {
    // A job that never ran may be new; its spec is written once.
    ASSIGN_OR_RETURN(Statement insert, db.Prepare("INSERT INTO job(id,uid,ended,spec,record) VALUES(?,?,?,?,?) "
                                                  "ON CONFLICT(id) DO UPDATE SET ended=excluded.ended,"
                                                  "record=excluded.record"));
    ASSIGN_OR_RETURN(Statement update, db.Prepare("UPDATE job SET ended=?,record=? WHERE id=?"));
    for (const JobPtr& job : t.jobs) {
      if (job->run == 0) {
        newest_job = std::max(newest_job, job->id.value);
        insert.Bind(1, static_cast<int64_t>(job->id.value));
        insert.Bind(2, static_cast<int64_t>(job->submitter.uid));
        insert.Bind(3, int64_t{IsEnd(job->state)});
        insert.BindBlob(4, EncodeSpec(*job));
        insert.BindBlob(5, EncodeJob(*job));
        RETURN_IF_ERROR(insert.Run());
      } else {
        update.Bind(1, int64_t{IsEnd(job->state)});
        update.BindBlob(2, EncodeJob(*job));
        update.Bind(3, static_cast<int64_t>(job->id.value));
        RETURN_IF_ERROR(update.Run());
      }
    }
  }
  for (const NodePtr& node : t.nodes) {
    ASSIGN_OR_RETURN(Statement put, db.Prepare("INSERT OR REPLACE INTO node(id,record) VALUES(?,?)"));
    put.Bind(1, static_cast<int64_t>(node->id.value));
    put.BindBlob(2, EncodeNode(*node));
    RETURN_IF_ERROR(put.Run());
  }
  if (!t.log.empty()) {
    ASSIGN_OR_RETURN(Statement add, db.Prepare("INSERT INTO log(job,revision,seq,record) VALUES(?,?,?,?)"));
    int64_t seq = 0;
    for (const JobLogRecord& line : t.log) {
      add.Bind(1, static_cast<int64_t>(line.job.value));
      add.Bind(2, static_cast<int64_t>(t.revision));
      add.Bind(3, seq++);
      add.BindBlob(4, EncodeLog(line));
      RETURN_IF_ERROR(add.Run());
    }
  }
  if (!t.requests.empty()) {
    ASSIGN_OR_RETURN(Statement add, db.Prepare("INSERT OR REPLACE INTO request(uid,id,job,wall_ns) VALUES(?,?,?,?)"));
    for (const RequestRecord& r : t.requests) {
      add.Bind(1, static_cast<int64_t>(r.uid));
      add.Bind(2, r.request_id);
      add.Bind(3, static_cast<int64_t>(r.job.value));
      add.Bind(4, r.wall_ns);
      RETURN_IF_ERROR(add.Run());
    }
    ASSIGN_OR_RETURN(Statement drop, db.Prepare("DELETE FROM request WHERE wall_ns<?"));
    drop.Bind(1, t.wall_ns - kRequestLifeNs);
    RETURN_IF_ERROR(drop.Run());
  }
  for (const StageStateRecord& s : t.stage_states) {
    ASSIGN_OR_RETURN(Statement put, db.Prepare("INSERT OR REPLACE INTO stage_state(stage,version,bytes) VALUES(?,?,?)"));
    put.Bind(1, s.stage);
    put.Bind(2, int64_t{s.version});
    put.BindBlob(3, s.bytes);
    RETURN_IF_ERROR(put.Run());
  }
  ASSIGN_OR_RETURN(Statement meta, db.Prepare("UPDATE meta SET value=?1 WHERE key=?2 AND "
                                              "CAST(value AS INTEGER)<CAST(?1 AS INTEGER)"));
  meta.Bind(1, std::to_string(t.revision));
  meta.Bind(2, std::string("revision"));
  RETURN_IF_ERROR(meta.Run());
  if (newest_job > 0) {
    meta.Bind(1, std::to_string(newest_job));
    meta.Bind(2, std::string("last_job"));
    RETURN_IF_ERROR(meta.Run());
  }
  return absl::OkStatus();
}

absl::StatusOr<RestoredState> SqliteStore::Load(size_t ended_jobs) {
  absl::MutexLock lock(&mutex_);
  RestoredState state;
  ASSIGN_OR_RETURN(const std::string revision, Meta(*database_, "revision"));
  ASSIGN_OR_RETURN(const std::string last_job, Meta(*database_, "last_job"));
  state.last_revision = std::strtoull(revision.c_str(), nullptr, 10);
  state.last_job_id = std::strtoull(last_job.c_str(), nullptr, 10);
  for (const char* sql : {"SELECT id,spec,record FROM job WHERE ended=0 ORDER BY id",
                          "SELECT id,spec,record FROM job WHERE ended=1 ORDER BY id DESC LIMIT ?"}) {
    ASSIGN_OR_RETURN(Statement rows, database_->Prepare(sql));
    rows.Bind(1, static_cast<int64_t>(ended_jobs));
    while (true) {
      ASSIGN_OR_RETURN(const bool more, rows.Step());
      if (!more) break;
      ASSIGN_OR_RETURN(Job job, JobFromRow(rows));
      state.jobs.push_back(std::make_shared<Job>(std::move(job)));
    }
    rows.Reset();
  }
  ASSIGN_OR_RETURN(Statement nodes, database_->Prepare("SELECT id,record FROM node ORDER BY id"));
  while (true) {
    ASSIGN_OR_RETURN(const bool more, nodes.Step());
    if (!more) break;
    ASSIGN_OR_RETURN(Node node, DecodeNode({static_cast<uint32_t>(nodes.Int(0))}, nodes.Text(1)));
    state.nodes.push_back(std::make_shared<Node>(std::move(node)));
  }
  ASSIGN_OR_RETURN(Statement requests, database_->Prepare("SELECT uid,id,job,wall_ns FROM request ORDER BY wall_ns"));
  while (true) {
    ASSIGN_OR_RETURN(const bool more, requests.Step());
    if (!more) break;
    state.requests.push_back({static_cast<uint32_t>(requests.Int(0)), requests.Text(1),
                              {static_cast<uint64_t>(requests.Int(2))}, requests.Int(3)});
  }
  ASSIGN_OR_RETURN(Statement stages, database_->Prepare("SELECT stage,version,bytes FROM stage_state ORDER BY stage"));
  while (true) {
    ASSIGN_OR_RETURN(const bool more, stages.Step());
    if (!more) break;
    state.stage_states.push_back({stages.Text(0), static_cast<uint32_t>(stages.Int(1)), stages.Text(2)});
  }
  return state;
}

absl::StatusOr<int> SqliteStore::Prune(int64_t ended_before_wall_ns, int jobs) {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(Statement rows,
                   database_->Prepare("SELECT id,spec,record FROM job WHERE ended=1 AND id>? ORDER BY id LIMIT ?"));
  rows.Bind(1, pruned_to_);
  rows.Bind(2, int64_t{jobs});
  std::vector<int64_t> old;
  int seen = 0;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) break;
    ++seen;
    pruned_to_ = rows.Int(0);
    ASSIGN_OR_RETURN(const Job job, JobFromRow(rows));
    if (job.ended_wall_ns < ended_before_wall_ns) old.push_back(rows.Int(0));
  }
  rows.Reset();
  if (seen < jobs) pruned_to_ = 0;  // from the beginning, next time
  if (old.empty()) return 0;
  const auto remove = [&]() -> absl::Status {
    RETURN_IF_ERROR(database_->Execute("BEGIN IMMEDIATE"));
    for (const char* sql : {"DELETE FROM log WHERE job=?", "DELETE FROM job WHERE id=?"}) {
      ASSIGN_OR_RETURN(Statement drop, database_->Prepare(sql));
      for (const int64_t id : old) {
        drop.Bind(1, id);
        RETURN_IF_ERROR(drop.Run());
      }
    }
    return database_->Execute("COMMIT");
  };
  if (const absl::Status status = remove(); !status.ok()) {
    (void)database_->Execute("ROLLBACK");
    return status;
  }
  return static_cast<int>(old.size());
}

absl::Status SqliteStore::Backup(const std::string& path) {
  absl::Status status = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(auto copy, Database::Open(path, Database::Mode::kCreate, ""));
    RETURN_IF_ERROR(copy->Execute("PRAGMA synchronous=FULL;"));
    RETURN_IF_ERROR(database_->CopyTo(*copy, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Lock(); },
                                      [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Unlock(); }));
    return copy->Execute("PRAGMA journal_mode=DELETE;");  // the copy is one file
  }();
  if (!status.ok()) {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((path + suffix).c_str());
  }
  return status;
}

absl::StatusOr<SqliteStore::Contents> SqliteStore::ReadEverything() {
  absl::MutexLock lock(&mutex_);
  Contents contents;
  const auto each = [&](const char* sql, const std::function<absl::Status(const Statement&)>& read) -> absl::Status {
    ASSIGN_OR_RETURN(Statement rows, database_->Prepare(sql));
    while (true) {
      ASSIGN_OR_RETURN(const bool more, rows.Step());
      if (!more) break;
      RETURN_IF_ERROR(read(rows));
    }
    rows.Reset();
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(each("PRAGMA integrity_check(1)", [](const Statement& row) {
    return row.Text(0) == "ok" ? absl::OkStatus() : absl::DataLossError(row.Text(0));
  }));
  RETURN_IF_ERROR(each("SELECT id,spec,record FROM job", [&](const Statement& row) -> absl::Status {
    ASSIGN_OR_RETURN(const Job job, JobFromRow(row));
    ++contents.jobs;
    contents.live_jobs += !IsEnd(job.state);
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(each("SELECT job,record FROM log", [](const Statement& row) {
    return DecodeLog({static_cast<uint64_t>(row.Int(0))}, row.Text(1)).status();
  }));
  RETURN_IF_ERROR(each("SELECT id,record FROM node", [&](const Statement& row) {
    ++contents.nodes;
    return DecodeNode({static_cast<uint32_t>(row.Int(0))}, row.Text(1)).status();
  }));
  ASSIGN_OR_RETURN(const std::string revision, Meta(*database_, "revision"));
  contents.revision = std::strtoull(revision.c_str(), nullptr, 10);
  return contents;
}

absl::StatusOr<std::optional<Job>> SqliteStore::FindJob(JobId id) {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(Statement row, database_->Prepare("SELECT id,spec,record FROM job WHERE id=?"));
  row.Bind(1, static_cast<int64_t>(id.value));
  ASSIGN_OR_RETURN(const bool found, row.Step());
  if (!found) return std::optional<Job>();
  ASSIGN_OR_RETURN(Job job, JobFromRow(row));
  row.Reset();
  return std::optional<Job>(std::move(job));
}

absl::StatusOr<std::vector<Job>> SqliteStore::EndedJobs(std::optional<uint32_t> uid, uint64_t before, int limit) {
  absl::MutexLock lock(&mutex_);
  const char* all = "SELECT id,spec,record FROM job WHERE ended=1 AND id<?1 ORDER BY id DESC LIMIT ?2";
  const char* mine = "SELECT id,spec,record FROM job WHERE uid=?3 AND ended=1 AND id<?1 ORDER BY id DESC LIMIT ?2";
  ASSIGN_OR_RETURN(Statement rows, database_->Prepare(uid ? mine : all));
  rows.Bind(1, before == 0 ? INT64_MAX : static_cast<int64_t>(before));
  rows.Bind(2, int64_t{limit});
  if (uid) rows.Bind(3, static_cast<int64_t>(*uid));
  std::vector<Job> jobs;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) break;
    ASSIGN_OR_RETURN(Job job, JobFromRow(rows));
    jobs.push_back(std::move(job));
  }
  rows.Reset();
  return jobs;
}

absl::StatusOr<std::vector<Store::LogLine>> SqliteStore::JobLog(JobId id, uint64_t after_revision, int limit) {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(Statement rows, database_->Prepare("SELECT revision,record FROM log WHERE job=? AND revision>? "
                                                      "ORDER BY revision,seq LIMIT ?"));
  rows.Bind(1, static_cast<int64_t>(id.value));
  rows.Bind(2, static_cast<int64_t>(after_revision));
  rows.Bind(3, int64_t{limit});
  std::vector<LogLine> lines;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) break;
    ASSIGN_OR_RETURN(JobLogRecord record, DecodeLog(id, rows.Text(1)));
    lines.push_back({static_cast<uint64_t>(rows.Int(0)), std::move(record)});
  }
  rows.Reset();
  return lines;
}

}  // namespace sinew
