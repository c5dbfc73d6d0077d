// SPDX-License-Identifier: Apache-2.0
// How many tasks of `true` a launcher starts, sees the end of and forgets in a second, with 64 under way at a time.
//   bazel run //agent/launcher:launcher_bench [-- TASKS [FLAG...]]
#include <cstdio>
#include <string>

#include "agent/launcher/test_launcher.h"

int main(int argc, char** argv) {
  using namespace sinew;
  const int total = argc > 1 ? std::atoi(argv[1]) : 2000;
  std::vector<std::string> flags = {"--single-user"};
  for (int i = 2; i < argc; ++i) flags.push_back(argv[i]);
  launcher::TestLauncher one(flags);
  int started = 0, ended = 0, forgotten = 0;
  auto start = [&] {
    v1::LauncherRequest request;
    request.set_id(1);
    *request.mutable_start() = one.Task(std::to_string(++started) + ".1.0", {"true"});
    if (!one.client().Send(request).ok()) std::abort();
  };
  const std::int64_t begin = MonoNs();
  while (started < std::min(total, 64)) start();
  while (forgotten < total) {
    const v1::LauncherReply reply = one.Next();
    if (!reply.error().empty()) return std::fprintf(stderr, "%s\n", reply.error().c_str()), 1;
    if (reply.id() == 2) ++forgotten;
    if (reply.id() != 0 || reply.tasks(0).running()) continue;
    ++ended;
    v1::LauncherRequest request;
    request.set_id(2);
    request.mutable_forget()->set_task(reply.tasks(0).task());
    if (!one.client().Send(request).ok()) return 1;
    if (started < total) start();
  }
  const double seconds = static_cast<double>(MonoNs() - begin) * 1e-9;
  std::printf("%d tasks in %.2f s: %.0f tasks/s\n", ended, seconds, ended / seconds);
  return 0;
}
