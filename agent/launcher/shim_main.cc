// SPDX-License-Identifier: Apache-2.0
// sinew-shim: a fork server. The launcher starts one; it forks a shim for each task asked for, which is then the
// launcher's child and has nothing more to do with this process. It ends when the launcher does. argv:
// "sinew-shim-server", and room in which a shim writes its own arguments: "sinew-shim <spool>/<task>".
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/launcher/shim.h"

namespace sinew::launcher {
namespace {

struct Received {
  ForkRequest request;
  int fds[3];  // kLockFd, 1 and 2 of the shim
};

// False when the launcher is gone.
bool Receive(Received* received) {
  iovec part = {&received->request, sizeof(received->request)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(received->fds))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  long size;
  do size = recvmsg(kRequestFd, &message, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size <= 0) return false;
  const cmsghdr* head = CMSG_FIRSTHDR(&message);
  for (int& fd : received->fds) fd = -1;
  if (head != nullptr && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(received->fds)))
    memcpy(received->fds, CMSG_DATA(head), sizeof(received->fds));
  received->request.file[sizeof(received->request.file) - 1] = '\0';
  return true;
}

// What ps shows: the kernel reads it from where the arguments of the process were.
void ShowArguments(char* room, size_t size, const char* file) {
  constexpr char kName[] = "sinew-shim";
  memset(room, 0, size);
  memcpy(room, kName, sizeof(kName));
  strncpy(room + sizeof(kName), file, size - sizeof(kName) - 1);
}

[[noreturn]] void BecomeShim(const Received& received, char* room, size_t size) {
  setsid();
  close(kRequestFd);
  // None of the targets is a source: the server's own descriptors fill the numbers below.
  dup2(received.fds[1], STDOUT_FILENO);
  dup2(received.fds[2], STDERR_FILENO);
  if (received.fds[0] != kLockFd) dup3(received.fds[0], kLockFd, O_CLOEXEC);
  close_range(kLockFd + 1, ~0u, 0);
  ShowArguments(room, size, received.request.file);
  RunShim();
  _exit(0);
}

void Serve(char* room, size_t size) {
  for (Received received; Receive(&received);) {
    ForkReply reply = {received.request.serial, 0, EBADMSG};
    if (received.fds[2] >= 0) {
      // A child of our parent, with the signal at its end that ours has. Nothing here holds locks over a fork.
      const long pid = syscall(SYS_clone, CLONE_PARENT, 0, 0, 0, 0);
      if (pid == 0) BecomeShim(received, room, size);
      reply.pid = pid > 0 ? static_cast<int>(pid) : 0;
      reply.error = pid > 0 ? 0 : errno;
    }
    for (const int fd : received.fds)
      if (fd >= 0) close(fd);
    if (send(kRequestFd, &reply, sizeof(reply), MSG_NOSIGNAL) < 0) return;
  }
}

}  // namespace
}  // namespace sinew::launcher

int main(int argc, char** argv) {
  using namespace sinew::launcher;
  int type = 0;
  socklen_t length = sizeof(type);
  if (argc != 2 || getsockopt(kRequestFd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET ||
      fcntl(kReportFd, F_GETFD) < 0) {
    dprintf(STDERR_FILENO, "sinew-shim: started by sinew-launcher; not for use by hand\n");
    return 64;
  }
  fcntl(kRequestFd, F_SETFD, FD_CLOEXEC);
  fcntl(kReportFd, F_SETFD, FD_CLOEXEC);
  close_range(kLockFd, ~0u, 0);  // what whoever started the launcher left open is not for tasks
  const size_t room = static_cast<size_t>(argv[1] + strlen(argv[1]) - argv[0]) + 1;
  Serve(argv[0], room);
  return 0;
}
