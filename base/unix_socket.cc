// SPDX-License-Identifier: Apache-2.0
#include "base/unix_socket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/errno_status.h"
#include "base/status_macros.h"

namespace sinew {
namespace {

// sun_path holds 107 bytes. A longer path is reached through a descriptor of its folder, which must stay open meanwhile.
struct Address {
  sockaddr_un un = {};
  UniqueFd folder;
};

absl::StatusOr<Address> AddressOf(const std::string& path) {
  Address address;
  address.un.sun_family = AF_UNIX;
  if (path.empty() || path.find('\0') != std::string::npos)
    return absl::InvalidArgumentError("socket path is empty or holds a NUL byte");
  std::string name = path;
  if (name.size() >= sizeof(address.un.sun_path)) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return ErrnoStatus("socket", path, ENAMETOOLONG);
    address.folder.reset(::open(path.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!address.folder.valid()) return ErrnoStatus("open the folder of", path);
    name = "/proc/self/fd/" + std::to_string(address.folder.get()) + path.substr(slash);
    if (name.size() >= sizeof(address.un.sun_path)) return ErrnoStatus("socket", path, ENAMETOOLONG);
  }
  std::memcpy(address.un.sun_path, name.c_str(), name.size() + 1);
  return address;
}

absl::StatusOr<UniqueFd> NewSocket(const std::string& path, int type) {
  UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus("make a socket for", path);
  return fd;
}

int Connect(int fd, const Address& address) {
  int rc;
  do {
    rc = ::connect(fd, reinterpret_cast<const sockaddr*>(&address.un), sizeof(address.un));
  } while (rc != 0 && errno == EINTR);
  return rc;
}

// Removes a socket file that nobody listens on.
absl::Status RemoveStale(const std::string& path, const Address& address, int type) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return errno == ENOENT ? absl::OkStatus() : ErrnoStatus("look at", path);
  if (!S_ISSOCK(info.st_mode)) return absl::AlreadyExistsError("listen at " + path + ": there is a file in the way");
  ASSIGN_OR_RETURN(UniqueFd probe, NewSocket(path, type | SOCK_NONBLOCK));
  if (Connect(probe.get(), address) == 0 || errno == EAGAIN || errno == EPROTOTYPE)
    return absl::AlreadyExistsError("listen at " + path + ": another process listens there already");
  if (errno != ECONNREFUSED && errno != ENOENT) return ErrnoStatus("try", path);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus("remove", path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UniqueFd> ListenUnix(const std::string& path, int type, mode_t mode) {
  ASSIGN_OR_RETURN(const Address address, AddressOf(path));
  RETURN_IF_ERROR(RemoveStale(path, address, type));
  ASSIGN_OR_RETURN(UniqueFd fd, NewSocket(path, type | SOCK_NONBLOCK));
  // bind() gives the file the mode of the socket less the umask; chmod() then adds what the umask took.
  if (::fchmod(fd.get(), mode) != 0) return ErrnoStatus("set the mode of", path);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.un), sizeof(address.un)) != 0)
    return ErrnoStatus("listen at", path);
  if (::chmod(path.c_str(), mode) != 0) return ErrnoStatus("set the mode of", path);
  if (::listen(fd.get(), 512) != 0) return ErrnoStatus("listen at", path);
  return fd;
}

absl::StatusOr<UniqueFd> ConnectUnix(const std::string& path, int type) {
  ASSIGN_OR_RETURN(const Address address, AddressOf(path));
  ASSIGN_OR_RETURN(UniqueFd fd, NewSocket(path, type));
  if (Connect(fd.get(), address) != 0) return ErrnoStatus("connect to", path);
  return fd;
}

absl::StatusOr<PeerCredentials> PeerOf(int fd) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return ErrnoStatus("read the credentials of", "a peer");
  return PeerCredentials{peer.pid, peer.uid, peer.gid};
}

}  // namespace sinew
