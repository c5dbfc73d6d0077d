// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/server.h"

#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/unix_socket.h"

namespace sinew::launcher {
namespace {

constexpr std::size_t kMaxConnections = 32;
constexpr std::size_t kMaxWaiting = 32u << 20;  // bytes a peer may leave unread
constexpr std::size_t kListBytes = 160u << 10;  // a page of a list; a task with the longest note still fits on top

}  // namespace

absl::Status Server::Open(UniqueFd listener, Tasks* tasks) {
  tasks_ = tasks;
  listener_ = std::move(listener);
  return loop_.Add(listener_.get(), EPOLLIN, [this](std::uint32_t) { Accept(); });
}

void Server::Accept() {
  for (;;) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EMFILE || errno == ENFILE) {
        // Level triggered: without a pause this would spin.
        loop_.Change(listener_.get(), 0);
        loop_.After(100, [this] { loop_.Change(listener_.get(), EPOLLIN); });
      }
      return;
    }
    const auto peer = PeerOf(fd.get());
    if (!peer.ok() || allowed_.count(peer->uid) == 0) {
      Complain("a connection of uid " + (peer.ok() ? std::to_string(peer->uid) : "unknown") + " is refused");
      continue;
    }
    if (connections_.size() >= kMaxConnections) {
      Complain("a connection is refused: there are " + std::to_string(kMaxConnections) + " already");
      continue;
    }
    const int size = 2 * kMaxPacket;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    const std::uint64_t id = ++last_id_;
    if (!loop_.Add(fd.get(), EPOLLIN, [this, id](std::uint32_t events) { OnReady(id, events); }).ok()) continue;
    connections_[id].fd = std::move(fd);
  }
}

void Server::OnReady(std::uint64_t id, std::uint32_t events) {
  if (events & EPOLLOUT) Flush(id);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  static std::vector<char> buffer(kMaxPacket);
  for (int i = 0; i < 64; ++i) {
    const auto it = connections_.find(id);
    if (it == connections_.end()) return;
    const ssize_t n = ::recv(it->second.fd.get(), buffer.data(), buffer.size(), MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return HangUp(id, nullptr);
    if (static_cast<std::size_t>(n) > buffer.size()) return HangUp(id, "it sent a packet of more than 256 KiB");
    v1::LauncherRequest request;
    if (!request.ParseFromArray(buffer.data(), static_cast<int>(n)))
      return HangUp(id, "it sent a packet that is no request");
    Handle(id, request);
  }
}

void Server::Handle(std::uint64_t id, const v1::LauncherRequest& request) {
  const std::uint64_t number = request.id();
  switch (request.verb_case()) {
    case v1::LauncherRequest::kStart:
      return tasks_->Start(request.start(), id,
                           [this, id, number](const absl::StatusOr<v1::TaskState>& s) { Answer(id, number, s); });
    case v1::LauncherRequest::kStop:
      return Answer(id, number, tasks_->Stop(request.stop()));
    case v1::LauncherRequest::kForget: {
      v1::LauncherReply reply;
      reply.set_id(number);
      reply.set_error(std::string(tasks_->Forget(request.forget().task()).message()));
      return Send(id, reply);
    }
    case v1::LauncherRequest::kList:
      return SendList(id, number);
    case v1::LauncherRequest::VERB_NOT_SET:
      return Answer(id, number, absl::InvalidArgumentError("the request holds no verb known here"));
  }
}

void Server::SendList(std::uint64_t id, std::uint64_t request) {
  v1::LauncherReply reply;
  auto begin = [&] {
    reply.Clear();
    reply.set_id(request);
    reply.set_cgroup(tasks_->cgroup_mode());
    reply.set_log_dir(tasks_->log_dir());
  };
  begin();
  std::size_t bytes = 0;
  for (v1::TaskState& state : tasks_->List()) {
    const std::size_t size = state.ByteSizeLong() + 8;
    if (bytes > 0 && bytes + size > kListBytes) {
      reply.set_more(true);
      Send(id, reply);
      begin();
      bytes = 0;
    }
    bytes += size;
    *reply.add_tasks() = std::move(state);
  }
  Send(id, reply);
}

void Server::Answer(std::uint64_t id, std::uint64_t request, const absl::StatusOr<v1::TaskState>& state) {
  v1::LauncherReply reply;
  reply.set_id(request);
  if (state.ok()) *reply.add_tasks() = *state;
  else reply.set_error(std::string(state.status().message()));
  Send(id, reply);
}

void Server::Broadcast(const v1::TaskState& state, std::uint64_t except) {
  v1::LauncherReply event;
  *event.add_tasks() = state;
  std::vector<std::uint64_t> ids;
  for (const auto& [id, connection] : connections_)
    if (id != except) ids.push_back(id);
  for (const std::uint64_t id : ids) Send(id, event);
}

void Server::Send(std::uint64_t id, const v1::LauncherReply& reply) {
  const auto it = connections_.find(id);
  if (it == connections_.end()) return;  // hung up meanwhile
  Connection& connection = it->second;
  connection.out.push_back(reply.SerializeAsString());
  connection.out_bytes += connection.out.back().size();
  if (connection.out_bytes > kMaxWaiting) return HangUp(id, "it does not read its answers");
  Flush(id);
}

void Server::Flush(std::uint64_t id) {
  const auto it = connections_.find(id);
  if (it == connections_.end()) return;
  Connection& connection = it->second;
  while (!connection.out.empty()) {
    const std::string& packet = connection.out.front();
    if (::send(connection.fd.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return loop_.Change(connection.fd.get(), EPOLLIN | EPOLLOUT);
      return HangUp(id, errno == EPIPE || errno == ECONNRESET ? nullptr : "a packet could not be sent");
    }
    connection.out_bytes -= packet.size();
    connection.out.pop_front();
  }
  loop_.Change(connection.fd.get(), EPOLLIN);
}

void Server::HangUp(std::uint64_t id, const char* why) {
  const auto it = connections_.find(id);
  if (it == connections_.end()) return;
  if (why != nullptr) Complain(std::string("a connection is hung up on: ") + why);
  loop_.Remove(it->second.fd.get());
  connections_.erase(it);
}

void Server::Complain(const std::string& what) {
  const std::int64_t now = MonoNs();
  if (complained_ns_ != 0 && now - complained_ns_ < 1'000'000'000) {
    ++kept_back_;
    return;
  }
  if (kept_back_ > 0) spdlog::warn("{} more warnings were kept back", kept_back_);
  spdlog::warn("{}", what);
  complained_ns_ = now;
  kept_back_ = 0;
}

}  // namespace sinew::launcher
