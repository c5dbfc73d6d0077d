// SPDX-License-Identifier: Apache-2.0
// Our own accept loop in front of gRPC on a unix socket. gRPC never owns a listening socket: a flood of connections, or
// one that sends nothing, costs the flooder and not the daemon (CVE-2023-4785 is why).
//
// A connection is handed over once it sent the HTTP/2 preface, within `handshake_ns`; who made it is read from the
// kernel at accept and kept under its descriptor's number. Numbers are not used again soon after a close, so a handler
// that still runs for an old connection never reads a newer caller's identity.
//
// Threads: Start and Stop by one; CallerOf and stats by any.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/unique_fd.h"

namespace sinew {

struct Caller {
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t pid = 0;
};

class Acceptor {
 public:
  struct Options {
    int max_connections = 0;     // 0 = three quarters of RLIMIT_NOFILE
    int max_per_uid = 0;         // 0 = half of max_connections for the daemon's own user and root, an eighth for others
    int64_t handshake_ns = 5'000'000'000;
  };
  // Takes over a descriptor, ready to speak HTTP/2.
  using HandOver = std::function<void(int fd)>;

  Acceptor(Options options, UniqueFd listener, HandOver hand_over);
  ~Acceptor();

  void Start();
  void Stop();

  // Whose connection descriptor number `fd` is.
  std::optional<Caller> CallerOf(int fd) const;
  // From grpc::ServerContext::peer(): "fd:17".
  std::optional<Caller> CallerOf(const std::string& peer) const;

  int64_t shed() const { return shed_.load(); }  // connections closed for a limit or a handshake that did not come

 private:
  struct Handed {
    Caller caller;
    ino_t inode = 0;
  };
  struct Waiting {
    UniqueFd fd;
    Caller caller;
    int64_t until_mono_ns = 0;
  };

  void Loop();
  void AcceptAll();
  void Greet(std::vector<Waiting>& ready);
  void Prune();
  int CountOf(uid_t uid) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  Options options_;
  UniqueFd listener_;
  UniqueFd wake_;
  HandOver hand_over_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> shed_{0};
  std::vector<Waiting> waiting_;  // of the loop's thread
  std::map<uid_t, int> waiting_of_;
  int next_number_ = 0;
  int lowest_number_ = 0;
  int highest_number_ = 0;

  mutable absl::Mutex mutex_;
  std::map<int, Handed> handed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sinew
