// SPDX-License-Identifier: Apache-2.0
// The launcher's socket: who may speak, packets in and out. One thread, that of the event loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "agent/launcher/event_loop.h"
#include "agent/launcher/tasks.h"
#include "base/unique_fd.h"
#include "proto/sinew/v1/launcher.pb.h"

namespace sinew::launcher {

class Server {
 public:
  Server(EventLoop& loop, std::set<uid_t> allowed) : loop_(loop), allowed_(std::move(allowed)) {}

  absl::Status Open(UniqueFd listener, Tasks* tasks);

  // To every connection but that one.
  void Broadcast(const v1::TaskState& state, std::uint64_t except);

 private:
  struct Connection {
    UniqueFd fd;
    std::deque<std::string> out;  // packets that wait until the peer reads
    std::size_t out_bytes = 0;
  };

  void Accept();
  void OnReady(std::uint64_t id, std::uint32_t events);
  void Handle(std::uint64_t id, const v1::LauncherRequest& request);
  void SendList(std::uint64_t id, std::uint64_t request);
  void Answer(std::uint64_t id, std::uint64_t request, const absl::StatusOr<v1::TaskState>& state);
  void Send(std::uint64_t id, const v1::LauncherReply& reply);
  void Flush(std::uint64_t id);
  void HangUp(std::uint64_t id, const char* why);
  // A line to the log, one a second at most: strangers do not get to fill the disk.
  void Complain(const std::string& what);

  EventLoop& loop_;
  const std::set<uid_t> allowed_;
  Tasks* tasks_ = nullptr;
  UniqueFd listener_;
  std::map<std::uint64_t, Connection> connections_;
  std::uint64_t last_id_ = 0;
  std::int64_t complained_ns_ = 0;
  int kept_back_ = 0;
};

}  // namespace sinew::launcher
