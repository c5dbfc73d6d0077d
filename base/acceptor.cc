// SPDX-License-Identifier: Apache-2.0
#include "base/acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/unix_socket.h"

namespace sinew {
namespace {

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr size_t kPrefaceSize = sizeof(kPreface) - 1;
constexpr size_t kMaxWaiting = 1024;

}  // namespace

Acceptor::Acceptor(Options options, UniqueFd listener, HandOver hand_over)
    : options_(options), listener_(std::move(listener)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      hand_over_(std::move(hand_over)) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const int files = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
  if (options_.max_connections == 0) options_.max_connections = std::max(8, files * 3 / 4);
  // Numbers of our own, above those that files and libraries get, and below the limit.
  lowest_number_ = files / 8;
  highest_number_ = files - 1;
  next_number_ = lowest_number_;
}

Acceptor::~Acceptor() { Stop(); }

void Acceptor::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void Acceptor::Stop() {
  stopping_ = true;
  const uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof(one)) < 0) {
    // The counter is full, so the loop wakes anyway.
  }
  if (thread_.joinable()) thread_.join();
}

std::optional<Caller> Acceptor::CallerOf(int fd) const {
  absl::ReaderMutexLock lock(&mutex_);
  auto it = handed_.find(fd);
  if (it == handed_.end()) return std::nullopt;
  return it->second.caller;
}

std::optional<Caller> Acceptor::CallerOf(const std::string& peer) const {
  if (!peer.starts_with("fd:")) return std::nullopt;
  return CallerOf(std::atoi(peer.c_str() + 3));
}

int Acceptor::CountOf(uid_t uid) const {
  return static_cast<int>(
      std::count_if(handed_.begin(), handed_.end(), [uid](const auto& h) { return h.second.caller.uid == uid; }));
}

// gRPC does not say when a connection closed: its number then names nothing, or another file.
void Acceptor::Prune() {
  absl::MutexLock lock(&mutex_);
  for (auto it = handed_.begin(); it != handed_.end();) {
    struct stat now{};
    const bool gone = ::fstat(it->first, &now) != 0 || now.st_ino != it->second.inode;
    it = gone ? handed_.erase(it) : std::next(it);
  }
}

void Acceptor::Loop() {
  int64_t last_prune = 0;
  bool out_of_files = false;
  while (!stopping_) {
    std::vector<pollfd> polls = {{wake_.get(), POLLIN, 0}};
    if (!out_of_files) polls.push_back({listener_.get(), POLLIN, 0});
    const size_t first = polls.size();
    for (const Waiting& w : waiting_) polls.push_back({w.fd.get(), POLLIN, 0});
    ::poll(polls.data(), polls.size(), out_of_files ? 50 : waiting_.empty() ? 1000 : 100);
    out_of_files = false;
    if (stopping_) return;
    const int64_t now = MonoNs();
    if (now - last_prune > 1'000'000'000) {
      Prune();
      last_prune = now;
    }
    std::vector<Waiting> kept;
    for (size_t i = 0; i < waiting_.size(); ++i) {
      Waiting& w = waiting_[i];
      char bytes[kPrefaceSize];
      bool keep = now < w.until_mono_ns;
      bool ready = false;
      if (polls[first + i].revents != 0) {
        const ssize_t n = ::recv(w.fd.get(), bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) keep = false;
        if (n > 0 && std::memcmp(bytes, kPreface, n) != 0) keep = false;
        ready = keep && n == static_cast<ssize_t>(kPrefaceSize);
      }
      if (keep && !ready) {
        kept.push_back(std::move(w));
        continue;
      }
      --waiting_of_[w.caller.uid];
      if (!ready) {
        ++shed_;
        continue;
      }
      std::vector<Waiting> one;
      one.push_back(std::move(w));
      Greet(one);
    }
    waiting_ = std::move(kept);
    if (polls[0].fd == wake_.get() && first == 2 && polls[1].revents != 0) {
      errno = 0;
      AcceptAll();
      out_of_files = errno == EMFILE || errno == ENFILE;
    }
  }
}

void Acceptor::Greet(std::vector<Waiting>& ready) {
  for (Waiting& w : ready) {
    // A number that was not used lately.
    if (next_number_ >= highest_number_) next_number_ = lowest_number_;
    UniqueFd moved(::fcntl(w.fd.get(), F_DUPFD_CLOEXEC, next_number_));
    if (!moved.valid()) {
      next_number_ = lowest_number_;
      ++shed_;
      continue;
    }
    next_number_ = moved.get() + 1;
    w.fd.reset();
    struct stat status{};
    ::fstat(moved.get(), &status);
    {
      absl::MutexLock lock(&mutex_);
      handed_[moved.get()] = {w.caller, status.st_ino};
    }
    hand_over_(moved.release());
  }
}

void Acceptor::AcceptAll() {
  const uid_t own = ::getuid();
  bool pruned = false;
  while (true) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;  // EAGAIN, or EMFILE, which the loop waits out
    }
    const auto peer = PeerOf(fd.get());
    if (!peer.ok()) continue;
    const Caller caller{peer->uid, peer->gid, peer->pid};
    const bool trusted = caller.uid == own || caller.uid == 0;
    const int per_uid = options_.max_per_uid != 0 ? options_.max_per_uid
                        : trusted                 ? options_.max_connections / 2
                                                  : std::max(4, options_.max_connections / 8);
    const auto full = [&] {
      absl::ReaderMutexLock lock(&mutex_);
      return static_cast<int>(handed_.size() + waiting_.size()) >= options_.max_connections ||
             waiting_.size() >= kMaxWaiting || CountOf(caller.uid) + waiting_of_[caller.uid] >= per_uid;
    };
    if (full()) {
      if (!pruned) Prune();
      pruned = true;
      if (full()) {
        ++shed_;
        continue;
      }
    }
    ++waiting_of_[caller.uid];
    waiting_.push_back({std::move(fd), caller, MonoNs() + options_.handshake_ns});
  }
}

}  // namespace sinew
