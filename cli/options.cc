// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/layout.h"

namespace sinew::cli {

bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

size_t TerminalWidth() {
  winsize size{};
  if (!IsTerminal(STDOUT_FILENO)) return 0;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string FindSocket(const Options& options) {
  if (!options.socket.empty()) return options.socket;
  if (!options.dir.empty()) return EmbeddedLayout(options.dir).socket;
  if (const char* named = std::getenv("SINEW_SOCKET"); named != nullptr && *named != '\0') return named;
  const std::string own = EmbeddedLayout("").socket, system = "/run/sinew/sinewd.sock";
  if (::access(own.c_str(), F_OK) == 0 || ::access(system.c_str(), F_OK) != 0) return own;
  return system;
}

}  // namespace sinew::cli
