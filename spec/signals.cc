// SPDX-License-Identifier: Apache-2.0
#include "spec/signals.h"

#include <csignal>
#include <cstring>

namespace sinew {

const std::vector<std::string>& NoticeSignals() {
  static const std::vector<std::string> names = {"HUP", "INT", "QUIT", "USR1", "USR2", "TERM", "ALRM", "WINCH", "CONT"};
  return names;
}

int SignalNumber(const std::string& name) {
  for (int number = 1; number < NSIG; ++number) {
    if (const char* known = ::sigabbrev_np(number); known != nullptr && name == known) return number;
  }
  return 0;
}

std::string SignalName(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? name : std::to_string(number);
}

}  // namespace sinew
