// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/shim_server.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "base/errno_status.h"
#include "base/process.h"
#include "base/status_macros.h"

namespace sinew::launcher {
namespace {

constexpr timeval kPatience = {5, 0};

}  // namespace

ShimServer::ShimServer(std::string program, std::size_t room, EventLoop& loop, Listener listener)
    : program_(std::move(program)), room_(room), loop_(loop), listener_(std::move(listener)) {}

ShimServer::~ShimServer() {
  if (socket_.valid()) loop_.Remove(socket_.get());
}

absl::Status ShimServer::Run() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus("make", "a socket");
  socket_.reset(ends[0]);
  const UniqueFd other(ends[1]);
  ::setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
  static const std::vector<std::string> no_env;
  SpawnOptions spawn;
  spawn.program = program_;
  spawn.argv = {"sinew-shim-server", std::string(room_, '-')};
  spawn.env = &no_env;
  spawn.fds = {{null_, 0}, {STDERR_FILENO, 1}, {STDERR_FILENO, 2}, {other.get(), kRequestFd}, {report_, kReportFd}};
  spawn.block_signals = true;
  auto spawned = Spawn(spawn);
  if (!spawned.ok()) {
    socket_.reset();
    return spawned.status();
  }
  pid_ = spawned->pid;
  return loop_.Add(socket_.get(), EPOLLIN, [this](std::uint32_t) { OnReady(); });
}

absl::Status ShimServer::Ask(std::uint64_t serial, const std::string& path, const Files& files) {
  if (!socket_.valid()) RETURN_IF_ERROR(Run());
  ForkRequest request = {};
  request.serial = serial;
  const std::size_t length = std::min(path.size(), sizeof(request.file) - 1);
  path.copy(request.file, length);
  iovec part = {&request, offsetof(ForkRequest, file) + length + 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(files))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(files));
  std::memcpy(CMSG_DATA(head), &files, sizeof(files));
  if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0) return absl::OkStatus();
  // One that has ended is dealt with in its turn, when the event loop hears of it.
  if (errno == EPIPE || errno == ECONNRESET) return absl::OkStatus();
  return ErrnoStatus("reach the fork server, sinew-shim, for", path);
}

void ShimServer::OnReady() {
  ForkReply reply;
  for (;;) {
    const ssize_t size = ::recv(socket_.get(), &reply, sizeof(reply), MSG_DONTWAIT);
    if (size == sizeof(reply)) listener_(reply);
    else if (size >= 0 || (errno != EAGAIN && errno != EINTR)) return OnGone();
    else if (errno == EAGAIN) return;
  }
}

void ShimServer::OnGone() {
  spdlog::warn("the fork server, sinew-shim, ended; the next task starts another");
  loop_.Remove(socket_.get());
  socket_.reset();
  ::kill(pid_, SIGKILL);  // if it only hung up
  ::waitpid(pid_, nullptr, 0);
  listener_({0, -1, 0});
}

}  // namespace sinew::launcher
