// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "agent/launcher/packet.h"
#include "base/clock.h"
#include "base/errno_status.h"
#include "base/status_macros.h"
#include "base/unix_socket.h"

namespace sinew {
namespace {

absl::Status Gone(const std::string& path, const std::string& why) {
  return absl::UnavailableError("the launcher at " + path + " is gone: " + why);
}

}  // namespace

absl::StatusOr<LauncherClient> LauncherClient::Connect(const std::string& path) {
  LauncherClient client;
  client.path_ = path;
  ASSIGN_OR_RETURN(client.fd_, ConnectUnix(path, SOCK_SEQPACKET));
  const int size = 2 * launcher::kMaxPacket;
  ::setsockopt(client.fd(), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
  if (::fcntl(client.fd(), F_SETFL, O_NONBLOCK) != 0) return ErrnoStatus("set up the connection to", path);
  client.buffer_.resize(launcher::kMaxPacket);
  return client;
}

absl::Status LauncherClient::Send(const v1::LauncherRequest& request) {
  const std::string packet = request.SerializeAsString();
  if (packet.size() > launcher::kMaxPacket)
    return absl::InvalidArgumentError("a request of " + std::to_string(packet.size()) +
                                      " bytes is larger than the launcher takes (262144)");
  const std::int64_t deadline = MonoNs() + 10'000'000'000;
  while (::send(fd_.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return Gone(path_, std::strerror(errno));
    const std::int64_t left_ms = (deadline - MonoNs()) / 1'000'000;
    pollfd writable = {fd_.get(), POLLOUT, 0};
    if (left_ms <= 0 || ::poll(&writable, 1, static_cast<int>(left_ms)) == 0)
      return Gone(path_, "it has taken no request for 10 s");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<v1::LauncherReply>> LauncherClient::Receive() {
  ssize_t n;
  do {
    n = ::recv(fd_.get(), buffer_.data(), buffer_.size(), MSG_TRUNC);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) return std::optional<v1::LauncherReply>();
  if (n < 0) return Gone(path_, std::strerror(errno));
  if (n == 0) return Gone(path_, "it hung up");
  v1::LauncherReply reply;
  if (static_cast<std::size_t>(n) > buffer_.size() || !reply.ParseFromArray(buffer_.data(), static_cast<int>(n)))
    return Gone(path_, "it sent a packet that is no reply");
  return std::optional<v1::LauncherReply>(std::move(reply));
}

}  // namespace sinew
