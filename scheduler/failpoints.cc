// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failpoints.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <list>
#include <string>
#include <thread>

namespace sinew {
namespace {

struct Armed {
  std::string name;
  int sleep_ms = 0;  // 0 = crash
  std::atomic<int> left{1};
};

std::list<Armed> Parse() {
  std::list<Armed> armed;
  const char* text = std::getenv("SINEW_FAILPOINTS");
  std::string rest = text ? text : "";
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string one = rest.substr(0, comma);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    const size_t equals = one.find('=');
    if (equals == std::string::npos) continue;
    Armed& a = armed.emplace_back();
    a.name = one.substr(0, equals);
    const std::string what = one.substr(equals + 1);
    if (what.starts_with("sleep:")) a.sleep_ms = std::atoi(what.c_str() + 6);
    if (what.starts_with("crash@")) a.left = std::atoi(what.c_str() + 6);
  }
  return armed;
}

}  // namespace

void Failpoint(const char* name) {
  static std::list<Armed> armed = Parse();
  for (Armed& a : armed) {
    if (a.name != name) continue;
    if (a.sleep_ms > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(a.sleep_ms));
    } else if (a.left.fetch_sub(1) == 1) {
      ::kill(::getpid(), SIGKILL);
    }
  }
}

}  // namespace sinew
