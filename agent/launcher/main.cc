// SPDX-License-Identifier: Apache-2.0
// sinew-launcher: the only part of Sinew that is root on a node. It starts tasks as their users and watches them; its
// end leaves them alone, and the next launcher on the same spool takes them up.
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "agent/launcher/server.h"
#include "agent/launcher/tasks.h"
#include "base/errno_status.h"
#include "base/files.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/status_macros.h"
#include "base/unix_socket.h"
#include "base/version.h"

namespace sinew::launcher {
namespace {

constexpr char kUsage[] =
    "Usage: sinew-launcher --socket PATH --spool DIR --agent-uid UID [--single-user] [--shim PATH] [--no-cgroups]\n"
    "\n"
    "Starts tasks for sinew-agent. Runs as root, and tasks as their users; with --single-user as\n"
    "anybody, and tasks only as the same user.\n";

struct Flags {
  std::string socket, spool, shim;
  long agent_uid = -1;
  bool single_user = false;
  bool cgroups = true;
};

void Ping(EventLoop& loop, long ms) {
  SdNotify("WATCHDOG=1");
  loop.After(ms, [&loop, ms] { Ping(loop, ms); });
}

// Folders that do not exist would be taken relative to wherever the launcher was started.
std::string Absolute(const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  char* cwd = ::getcwd(nullptr, 0);
  const std::string whole = std::string(cwd == nullptr ? "" : cwd) + "/" + path;
  std::free(cwd);
  return whole;
}

absl::Status Run(const Flags& flags) {
  const uid_t own = ::geteuid(), agent = static_cast<uid_t>(flags.agent_uid);
  ASSIGN_OR_RETURN(const UniqueFd signals, TakeSignals());
  ASSIGN_OR_RETURN(Spool spool, Spool::Open(Absolute(flags.spool)));
  Tasks::Options options;
  options.shim = flags.shim;
  if (options.shim.empty()) {
    ASSIGN_OR_RETURN(options.shim, FindSibling("sinew-shim"));
  }
  options.shim = Absolute(options.shim);
  if (::access(options.shim.c_str(), X_OK) != 0) return ErrnoStatus("shim", options.shim);
  options.rules = {flags.single_user, own};
  options.set_ids = !flags.single_user;
  const passwd* agent_user = ::getpwuid(agent);
  options.log_group = agent_user != nullptr ? agent_user->pw_gid : static_cast<gid_t>(agent);

  EventLoop loop;
  std::set<uid_t> allowed = {0, agent};
  if (flags.single_user) allowed.insert(own);
  Server server(loop, allowed);
  Tasks tasks(options, std::move(spool), flags.cgroups && own == 0 ? Cgroups::Detect() : Cgroups(), loop,
              [&server](const v1::TaskState& state, std::uint64_t asker) { server.Broadcast(state, asker); });
  RETURN_IF_ERROR(tasks.Open());
  ASSIGN_OR_RETURN(UniqueFd listener, ListenUnix(Absolute(flags.socket), SOCK_SEQPACKET, 0660));
  // Others cannot even connect; were they to, their uid would be seen and they hung up on.
  if (own == 0 && agent != 0 && ::chown(flags.socket.c_str(), agent, static_cast<gid_t>(-1)) != 0)
    return ErrnoStatus("change the owner of", flags.socket);
  RETURN_IF_ERROR(server.Open(std::move(listener), &tasks));
  RETURN_IF_ERROR(loop.Add(signals.get(), EPOLLIN, [&](std::uint32_t) {
    for (int signal; (signal = NextSignal(signals.get())) != 0;) {
      if (signal == SIGHUP) continue;
      spdlog::info("stops on signal {}; {} tasks go on", signal, tasks.running());
      loop.Stop();
    }
  }));
  spdlog::info("version={} socket={} spool={} cgroup={} running={}", kVersion, flags.socket, flags.spool,
               tasks.cgroup_mode(), tasks.running());
  SdNotify("READY=1");
  if (const long ms = WatchdogPingMs(); ms > 0) Ping(loop, ms);
  loop.Run();
  SdNotify("STOPPING=1");
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  const option options[] = {
      {"socket", required_argument, nullptr, 's'},     {"spool", required_argument, nullptr, 'd'},
      {"agent-uid", required_argument, nullptr, 'u'},  {"shim", required_argument, nullptr, 'x'},
      {"single-user", no_argument, nullptr, '1'},      {"no-cgroups", no_argument, nullptr, 'c'},
      {"version", no_argument, nullptr, 'v'},          {"help", no_argument, nullptr, 'h'},
      {}};
  Flags flags;
  for (int c; (c = ::getopt_long(argc, argv, "", options, nullptr)) != -1;) {
    switch (c) {
      case 's': flags.socket = optarg; break;
      case 'd': flags.spool = optarg; break;
      case 'x': flags.shim = optarg; break;
      case '1': flags.single_user = true; break;
      case 'c': flags.cgroups = false; break;
      case 'u': {
        char* end = nullptr;
        errno = 0;
        flags.agent_uid = std::strtol(optarg, &end, 10);
        if (errno != 0 || *optarg == '\0' || *end != '\0' || flags.agent_uid < 0 || flags.agent_uid >= 0xffffffffL) {
          std::fprintf(stderr, "sinew-launcher: --agent-uid must be a number, not '%s'\n", optarg);
          return 2;
        }
        break;
      }
      case 'v': std::printf("sinew-launcher %s\n", kVersion); return 0;
      case 'h': std::fputs(kUsage, stdout); return 0;
      default: std::fputs(kUsage, stderr); return 2;
    }
  }
  if (flags.socket.empty() || flags.spool.empty() || flags.agent_uid < 0 || optind != argc) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (!flags.single_user && ::geteuid() != 0) {
    std::fputs("sinew-launcher: must be root to run tasks as their users; --single-user runs them as yourself\n", stderr);
    return 1;
  }
  ::umask(022);
  spdlog::set_default_logger(spdlog::stderr_logger_st("sinew-launcher"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %n: %v");
  spdlog::flush_on(spdlog::level::trace);
  const absl::Status status = Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "sinew-launcher: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace sinew::launcher

int main(int argc, char** argv) { return sinew::launcher::Main(argc, argv); }
