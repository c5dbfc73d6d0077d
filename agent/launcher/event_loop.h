// SPDX-License-Identifier: Apache-2.0
// epoll and timers for a program of one thread. Handlers may add and remove anything, themselves included.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "absl/status/status.h"
#include "base/unique_fd.h"

namespace sinew::launcher {

class EventLoop {
 public:
  using Handler = std::function<void(std::uint32_t events)>;

  EventLoop();

  // events: EPOLLIN, EPOLLOUT; level triggered. The descriptor stays the caller's, who removes it before closing it.
  absl::Status Add(int fd, std::uint32_t events, Handler handler);
  void Change(int fd, std::uint32_t events);
  void Remove(int fd);

  void After(std::int64_t ms, std::function<void()> run);

  // Until Stop().
  void Run();
  void Stop() { stop_ = true; }

 private:
  struct Watched {
    std::uint32_t generation;  // an event read before the descriptor got its present owner is dropped
    std::shared_ptr<Handler> handler;
  };
  UniqueFd epoll_;
  std::unordered_map<int, Watched> watched_;
  std::multimap<std::int64_t, std::function<void()>> timers_;  // by MonoNs
  std::uint32_t generation_ = 0;
  bool stop_ = false;
};

}  // namespace sinew::launcher
