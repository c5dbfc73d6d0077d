// SPDX-License-Identifier: Apache-2.0
// The agent's connection to its launcher: made again when lost, and begun each time with the list of all tasks. Not
// thread-safe: of the agent's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/launcher/client.h"
#include "proto/sinew/v1/launcher.pb.h"

namespace sinew::agent {

class LauncherLink {
 public:
  struct Events {
    // A connection begins: everything it holds. Replies and events follow.
    std::function<void(const v1::LauncherReply& list)> listed;
    std::function<void(const v1::LauncherReply& reply)> reply;
    std::function<void(const std::string& why)> lost;
  };

  LauncherLink(std::string socket, Events events) : socket_(std::move(socket)), events_(std::move(events)) {}

  // -1 = not connected. Poll for POLLIN, then Receive.
  int fd() const { return client_ ? client_->fd() : -1; }
  void Receive();
  // Connects where that is due: at once, then every 200 ms.
  void Tick(int64_t now_ns);
  // A request that is too large is answered with an error as by the launcher; without a connection it is dropped, since
  // the next list shows what was not done.
  void Send(const std::vector<v1::LauncherRequest>& requests);

 private:
  // Far from what the session counts up.
  static constexpr uint64_t kListId = uint64_t{1} << 62;

  void Lose(const std::string& why);

  const std::string socket_;
  const Events events_;
  std::optional<LauncherClient> client_;
  bool listing_ = false;
  v1::LauncherReply list_;
  std::vector<v1::LauncherReply> meanwhile_;  // came before the list was whole
  std::string told_;                          // why it was lost, last told
  int64_t next_try_ns_ = 0;
};

}  // namespace sinew::agent
