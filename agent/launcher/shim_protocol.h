// SPDX-License-Identifier: Apache-2.0
// What the launcher and a shim say to each other, as plain structs of one machine. The two are installed together, but
// a launcher may meet shims of its predecessor: a change to a struct needs a new magic number.
#pragma once

#include <cstdint>

namespace sinew::launcher {

// Descriptors. 0 is /dev/null. Of a shim, 1 and 2 are the task's output, or /dev/null when the user's own path is to be
// opened.
inline constexpr int kRequestFd = 3;  // the fork server's: SOCK_SEQPACKET to the launcher
inline constexpr int kReportFd = 4;   // pipe to the launcher: ShimReport, each in one write
inline constexpr int kLockFd = 5;     // a shim's: <spool>/<task>, flocked for as long as the shim lives

// To the fork server, with three descriptors: kLockFd and the output's two. The shim it forks is the launcher's child,
// as if the launcher had executed it; it costs a fraction of that.
struct ForkRequest {
  std::uint64_t serial;
  char file[4096];  // <spool>/<task>, for people who look at the shim's arguments; ends in NUL, sent up to there
};
struct ForkReply {
  std::uint64_t serial;
  std::int32_t pid;    // 0 = no shim
  std::int32_t error;  // errno then
};

inline constexpr std::uint64_t kTaskMagic = 0x326b73745f776e73;    // "snw_tsk2"
inline constexpr std::uint64_t kRecordMagic = 0x316b636c5f776e73;  // "snw_lck1"
inline constexpr std::uint64_t kReportMagic = 0x317470725f776e73;  // "snw_rpt1"

enum ShimFlags : std::uint32_t {
  kSetIds = 1,         // become uid, gid and groups; else the task runs as whoever the shim is
  kResetOomScore = 2,  // the launcher is protected from the OOM killer, tasks are not
};

// Followed by groups (uint32 each), cpus (uint32 each), then strings that end in NUL: workdir, stdout path, stderr path
// ("" = descriptor 1, 2), cgroup v2 folder, cgroup v1 memory folder ("" = none), n_args arguments, n_env variables.
struct ShimTask {
  std::uint64_t magic;
  std::uint64_t serial;  // the launcher's, repeated in reports
  std::uint32_t flags;
  std::uint32_t uid, gid;
  std::uint32_t n_groups, n_cpus, n_args, n_env;
  std::uint32_t reserved;
};

struct ShimRecord {
  std::uint64_t magic;
  std::int64_t shim_pid;
  std::int64_t main_pid;         // 0 until the task was executed
  std::int64_t started_boot_ns;
};

enum ShimReportKind : std::uint32_t { kStarted = 1, kEnded = 2, kNeverStarted = 3, kStatusLost = 4 };

// Sent through the pipe, and written into <spool>/<task> once the task has ended, its magic number last.
struct ShimReport {
  std::uint64_t magic;
  std::uint64_t serial;
  std::uint32_t kind;
  std::int32_t exit_code;
  std::int32_t signal;
  std::int32_t reserved;
  std::int64_t pid;
  std::int64_t started_boot_ns, ended_boot_ns;
  std::int64_t cpu_ns, peak_memory_bytes;
  char error[1024];  // of kNeverStarted; ends in NUL
};

// The file <spool>/<task>. It has its full size from the start, so that a full disk is met there and not at the end.
inline constexpr std::int64_t kRecordOffset = 0;    // ShimRecord
inline constexpr std::int64_t kStatusOffset = 64;   // ShimReport
inline constexpr std::int64_t kStartOffset = 2048;  // the size of the StartTask as uint64, and the StartTask
// Behind it the ShimTask.
inline constexpr std::int64_t ShimTaskOffset(std::uint64_t start_size) {
  return (kStartOffset + 8 + static_cast<std::int64_t>(start_size) + 7) / 8 * 8;
}
static_assert(sizeof(ShimRecord) <= kStatusOffset);
static_assert(kStatusOffset + sizeof(ShimReport) <= kStartOffset);

// A stop is a queued signal SIGRTMIN to the shim; its value is grace in ms << 8 | the first signal.
inline constexpr std::int64_t kMaxGraceMs = std::int64_t{1} << 40;

}  // namespace sinew::launcher
