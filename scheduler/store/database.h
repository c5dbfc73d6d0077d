// SPDX-License-Identifier: Apache-2.0
// A thin layer over one SQLite connection: typed errors, prepared statements that are kept. One thread at a time.
//
// Errors: RESOURCE_EXHAUSTED when the disk is full; DATA_LOSS when the disk failed or the file is damaged (the caller
// stops: a failed sync is never tried again, since the kernel may have dropped the data); INTERNAL otherwise.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinew {

class Statement {
 public:
  Statement(sqlite3* db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}
  // Parameters from 1.
  void Bind(int index, int64_t value) { sqlite3_bind_int64(statement_, index, value); }
  void Bind(int index, const std::string& text) {
    sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void BindBlob(int index, const std::string& bytes) {
    sqlite3_bind_blob(statement_, index, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
  }
  // True while there is a row.
  absl::StatusOr<bool> Step();
  absl::Status Run();  // to the end, no rows wanted
  // Columns from 0.
  int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string Text(int column) const;
  void Reset() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_;
};

class Database {
 public:
  enum class Mode { kReadOnly, kReadWrite, kCreate };
  // vfs: name of a registered VFS, "" = the default.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path, Mode mode, const std::string& vfs);
  ~Database();

  absl::Status Execute(const std::string& sql);
  // Copies all of it into another, some pages at a time; `lock` and `unlock` are called around each such step, and what
  // others change through this connection in between is part of the copy.
  absl::Status CopyTo(Database& to, const std::function<void()>& lock, const std::function<void()>& unlock);
  // The prepared statement, reset. Valid until the next Prepare of the same text.
  absl::StatusOr<Statement> Prepare(const char* sql);

 private:
  Database() = default;
  sqlite3* db_ = nullptr;
  std::map<const char*, sqlite3_stmt*> statements_;
};

}  // namespace sinew
