// SPDX-License-Identifier: Apache-2.0
// The launcher's side of the fork server, sinew-shim. It is started when first needed, and again should it have ended.
// One thread, that of the event loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "agent/launcher/event_loop.h"
#include "agent/launcher/shim_protocol.h"
#include "base/unique_fd.h"

namespace sinew::launcher {

class ShimServer {
 public:
  // Gets each shim that was forked (or error, an errno); pid -1, serial 0 when the server ended: which of the shims asked
  // for and not yet told of there are is then unknown. It may ask again at once.
  using Listener = std::function<void(const ForkReply& reply)>;

  // program: the path of sinew-shim. room: the length of the longest path of a task's file, which shims show.
  ShimServer(std::string program, std::size_t room, EventLoop& loop, Listener listener);
  ~ShimServer();

  // Takes copies of the descriptors; path for people to see. Fails when the server cannot be started or takes nothing
  // for seconds; then nothing was forked.
  struct Files {
    int file, out, err;
  };
  absl::Status Ask(std::uint64_t serial, const std::string& path, const Files& files);

  // Before the first Ask; they outlive this. report: the end of the pipe that shims write to.
  void SetDescriptors(int null, int report) { null_ = null, report_ = report; }

 private:
  absl::Status Run();
  void OnReady();
  void OnGone();

  const std::string program_;
  const std::size_t room_;
  EventLoop& loop_;
  const Listener listener_;
  int null_ = -1, report_ = -1;
  pid_t pid_ = 0;
  UniqueFd socket_;
};

}  // namespace sinew::launcher
