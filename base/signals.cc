// SPDX-License-Identifier: Apache-2.0
#include "base/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/errno_status.h"

namespace sinew {

absl::StatusOr<UniqueFd> TakeSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int one : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set, one);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0)
    return ErrnoStatus("block", "signals", error);
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus("make", "a signalfd");
  return fd;
}

int NextSignal(int signal_fd) {
  signalfd_siginfo info;
  ssize_t n;
  do {
    n = ::read(signal_fd, &info, sizeof(info));
  } while (n < 0 && errno == EINTR);
  return n == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace sinew
