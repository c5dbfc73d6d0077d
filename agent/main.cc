// SPDX-License-Identifier: Apache-2.0
// sinew-agent: learns what the node is, then serves the daemon until it is told to stop.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>

#include "agent/agent.h"
#include "agent/discover/described.h"
#include "agent/discover/machine.h"
#include "base/files.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/version.h"

namespace sinew::agent {
namespace {

constexpr int kConfigurationExit = 78;  // EX_CONFIG: a restart does not help

int Refuse(const absl::Status& status) {
  std::fprintf(stderr, "sinew-agent: %s\n", std::string(status.message()).c_str());
  return kConfigurationExit;
}

std::string Hostname() {
  char name[256] = "";
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

// Of this start of the kernel: tells a node that was started anew from an agent that was.
std::string BootId() {
  std::string id = ReadFile("/proc/sys/kernel/random/boot_id").value_or("");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

int Main(int argc, char** argv) {
  CLI::App app("The node daemon of Sinew");
  std::string state_dir, hardware, address = "127.0.0.1", log_level = "info";
  MachineOptions machine;
  AgentOptions options;
  options.facts.node = Hostname();
  app.add_option("--node", options.facts.node, "name of this node in the cluster (default: the host's)");
  app.add_option("--controller", options.controller, "the daemon's socket")->required();
  app.add_option("--launcher", options.launcher, "the launcher's socket")->required();
  app.add_option("--state-dir", state_dir, "a folder of the agent's; job users must be able to enter it")->required();
  app.add_option("--hardware", hardware, "take the node for what this file describes, instead of looking");
  app.add_option("--sysroot", machine.sysroot, "look below this folder instead of /");
  app.add_option("--nvml", machine.nvml_library, "the NVIDIA library (default: libnvidia-ml.so.1)");
  app.add_option("--trainer", options.facts.trainer, "sinew-trainer (default: the one installed with this agent)");
  app.add_option("--address", address, "where other nodes reach this node's tasks");
  app.add_option("--log-level", log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
  app.set_version_flag("--version", std::string("sinew-agent ") + kVersion);
  app.footer("Exit status: 0 stopped by a signal, 78 something needs a person.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  // Before any thread, so that all inherit the mask.
  auto signals = TakeSignals();
  if (!signals.ok()) return Refuse(signals.status());
  spdlog::set_default_logger(spdlog::stderr_logger_mt("sinew-agent"));
  spdlog::set_pattern("ts=%Y-%m-%dT%H:%M:%S.%e level=%l %v");
  spdlog::set_level(spdlog::level::from_str(log_level));
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 65'536);
    ::setrlimit(RLIMIT_NOFILE, &files);
  }

  machine.warn = [](const std::string& what) { spdlog::warn("msg=\"{}\"", what); };
  auto info = hardware.empty() ? DiscoverMachine(machine) : DescribedNode(hardware);
  if (!info.ok()) return Refuse(info.status());
  info->set_hostname(Hostname());
  info->set_boot_id(BootId());
  info->set_agent_version(kVersion);
  info->set_address(address);
  if (options.facts.trainer.empty()) options.facts.trainer = FindSibling("sinew-trainer").value_or("");
  if (const absl::Status made = MakeFolders(state_dir, 0755); !made.ok()) return Refuse(made);
  options.facts.runtime_socket = state_dir + "/runtime.sock";
  spdlog::info("msg=\"starting\" version={} node={} cpus={} devices={} described={}", kVersion, options.facts.node,
               info->milli_cpus() / 1000, info->devices_size(), info->described());
  options.facts.info = *std::move(info);

  Agent agent(std::move(options));
  if (const absl::Status status = agent.Run(signals->get()); !status.ok()) return Refuse(status);
  return 0;
}

}  // namespace
}  // namespace sinew::agent

int main(int argc, char** argv) { return sinew::agent::Main(argc, argv); }
