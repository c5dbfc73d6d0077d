// SPDX-License-Identifier: Apache-2.0
// Verbs about the daemon's state.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/errno_status.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/process.h"

namespace sinew::cli {
namespace {

// Becomes sinewd, whose output and exit status are the answer.
absl::Status BecomeDaemon(std::vector<std::string> args) {
  ASSIGN_OR_RETURN(const std::string program, FindProgram("sinewd"));
  args.insert(args.begin(), "sinewd");
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  return ErrnoStatus("start", program);
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::StatusOr<int> AdminBackup(const Options& options) {
  const std::string path = options.names.at(0), part = path + ".part";
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) return absl::AlreadyExistsError(path + " is there already; name another file");
  UniqueFd file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return ErrnoStatus("write", part);
  v1::StateSummary summary;
  int64_t size = 0;
  absl::Status written;
  Client client(FindSocket(options));
  absl::Status status = client.Backup([&](const v1::BackupChunk& chunk) {
    if (chunk.has_summary()) summary = chunk.summary();
    for (size_t at = 0; at < chunk.data().size();) {
      const ssize_t n = ::write(file.get(), chunk.data().data() + at, chunk.data().size() - at);
      if (n <= 0) {
        written = ErrnoStatus("write", part);
        return false;
      }
      at += static_cast<size_t>(n);
      size += n;
    }
    return true;
  });
  status.Update(written);
  if (status.ok() && (size == 0 || size != summary.bytes())) status = absl::DataLossError("the backup came in half");
  if (status.ok() && ::fsync(file.get()) != 0) status = ErrnoStatus("sync", part);
  if (status.ok() && ::renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0)
    status = ErrnoStatus("rename to", path);
  if (!status.ok()) {
    ::unlink(part.c_str());
    return status;
  }
  RETURN_IF_ERROR(FsyncDir(FolderOf(path)));
  if (options.format == Format::kJson || options.format == Format::kYaml) {
    Print(options.format == Format::kJson ? ToJson(summary) : ToYaml(summary));
  } else {
    Print(path + ": " + std::to_string(summary.jobs()) + " jobs (" + std::to_string(summary.live_jobs()) + " not ended), " +
          std::to_string(summary.nodes()) + " nodes, revision " + std::to_string(summary.revision()) + ", " +
          std::to_string(summary.bytes()) + " bytes, verified\n");
  }
  return kDone;
}

absl::StatusOr<int> AdminCheck(const Options& options) { return BecomeDaemon({"--check-state", options.names.at(0)}); }

absl::StatusOr<int> AdminRestore(const Options& options) {
  return BecomeDaemon({"--config", options.config, "--restore", options.names.at(0)});
}

}  // namespace sinew::cli
