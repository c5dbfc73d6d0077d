// SPDX-License-Identifier: Apache-2.0
// Unix sockets by path. Descriptors are close-on-exec. Errors name the path and the errno text. Any thread.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace sinew {

// Listens at path, non-blocking. type is SOCK_STREAM or SOCK_SEQPACKET. The socket file gets exactly this mode and is
// never wider, not even for a moment. A socket file that nobody listens on any more is replaced; ALREADY_EXISTS when
// somebody does, or when the path is not a socket.
absl::StatusOr<UniqueFd> ListenUnix(const std::string& path, int type, mode_t mode);

// Blocking descriptor, connected. NOT_FOUND without the file, FAILED_PRECONDITION or UNAVAILABLE when nobody listens.
absl::StatusOr<UniqueFd> ConnectUnix(const std::string& path, int type);

struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};
// Who was at the other end when the connection was made; the kernel vouches for it.
absl::StatusOr<PeerCredentials> PeerOf(int fd);

}  // namespace sinew
