// SPDX-License-Identifier: Apache-2.0
#include "scheduler/store/database.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace sinew {
namespace {

absl::Status Error(sqlite3* db) {
  const int code = sqlite3_extended_errcode(db);
  std::string text = absl::StrCat("SQLite: ", sqlite3_errmsg(db), " (", code, ")");
  const int system = sqlite3_system_errno(db);
  if ((code & 0xff) == SQLITE_FULL || ((code & 0xff) == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT))) {
    return absl::ResourceExhaustedError("no space left on the disk of the state directory");
  }
  switch (code & 0xff) {
    case SQLITE_IOERR:
      return absl::DataLossError(absl::StrCat(text, ": ", system ? std::strerror(system) : "disk error"));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return absl::DataLossError(text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return absl::UnavailableError(text);
    case SQLITE_CANTOPEN: return absl::NotFoundError(text);
    default: return absl::InternalError(text);
  }
}

}  // namespace

absl::StatusOr<bool> Statement::Step() {
  switch (sqlite3_step(statement_)) {
    case SQLITE_ROW: return true;
    case SQLITE_DONE: return false;
    default: {
      const absl::Status status = Error(db_);
      sqlite3_reset(statement_);
      return status;
    }
  }
}

absl::Status Statement::Run() {
  const auto more = Step();
  if (!more.ok()) return more.status();
  Reset();
  return absl::OkStatus();
}

std::string Statement::Text(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  return data ? std::string(static_cast<const char*>(data), sqlite3_column_bytes(statement_, column)) : "";
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path, Mode mode, const std::string& vfs) {
  std::unique_ptr<Database> database(new Database);
  const int flags = SQLITE_OPEN_NOMUTEX | (mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                    (mode == Mode::kCreate ? SQLITE_OPEN_CREATE : 0);
  if (sqlite3_open_v2(path.c_str(), &database->db_, flags, vfs.empty() ? nullptr : vfs.c_str()) != SQLITE_OK) {
    return Error(database->db_);
  }
  sqlite3_extended_result_codes(database->db_, 1);
  return database;
}

Database::~Database() {
  for (auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

absl::Status Database::Execute(const std::string& sql) {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return Error(db_);
  return absl::OkStatus();
}

absl::Status Database::CopyTo(Database& to, const std::function<void()>& lock, const std::function<void()>& unlock) {
  constexpr int kPages = 256;
  lock();
  sqlite3_backup* copy = sqlite3_backup_init(to.db_, "main", db_, "main");
  unlock();
  if (!copy) return Error(to.db_);
  int code = SQLITE_OK;
  while (code == SQLITE_OK) {
    lock();
    code = sqlite3_backup_step(copy, kPages);
    unlock();
  }
  lock();
  sqlite3_backup_finish(copy);
  unlock();
  return code == SQLITE_DONE ? absl::OkStatus() : Error(to.db_);
}

absl::StatusOr<Statement> Database::Prepare(const char* sql) {
  sqlite3_stmt*& kept = statements_[sql];
  if (!kept && sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &kept, nullptr) != SQLITE_OK) {
    return Error(db_);
  }
  Statement statement(db_, kept);
  statement.Reset();
  return statement;
}

}  // namespace sinew
