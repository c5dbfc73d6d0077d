// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/event_loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/errno_status.h"

namespace sinew::launcher {
namespace {

epoll_event Event(int fd, std::uint32_t generation, std::uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(fd);
  return event;
}

}  // namespace

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

absl::Status EventLoop::Add(int fd, std::uint32_t events, Handler handler) {
  epoll_event event = Event(fd, ++generation_, events);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return ErrnoStatus("watch", "a descriptor");
  watched_[fd] = {generation_, std::make_shared<Handler>(std::move(handler))};
  return absl::OkStatus();
}

void EventLoop::Change(int fd, std::uint32_t events) {
  const auto it = watched_.find(fd);
  if (it == watched_.end()) return;
  epoll_event event = Event(fd, it->second.generation, events);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::Remove(int fd) {
  if (watched_.erase(fd) > 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::After(std::int64_t ms, std::function<void()> run) {
  timers_.emplace(MonoNs() + ms * 1'000'000, std::move(run));
}

void EventLoop::Run() {
  epoll_event events[64];
  while (!stop_) {
    std::int64_t wait_ms = -1;
    if (!timers_.empty()) {
      const std::int64_t left = timers_.begin()->first - MonoNs();
      wait_ms = std::clamp<std::int64_t>((left + 999'999) / 1'000'000, 0, 3'600'000);
    }
    const int count = ::epoll_wait(epoll_.get(), events, 64, static_cast<int>(wait_ms));
    for (int i = 0; i < count && !stop_; ++i) {
      const auto it = watched_.find(static_cast<int>(events[i].data.u64 & 0xffffffff));
      if (it == watched_.end() || it->second.generation != events[i].data.u64 >> 32) continue;
      const std::shared_ptr<Handler> handler = it->second.handler;
      (*handler)(events[i].events);
    }
    while (!stop_ && !timers_.empty() && timers_.begin()->first <= MonoNs()) {
      const std::function<void()> run = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      run();
    }
  }
}

}  // namespace sinew::launcher
