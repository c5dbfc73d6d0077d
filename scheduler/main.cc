// SPDX-License-Identifier: Apache-2.0
// sinewd: reads its configuration, restores the state, serves.
#include <poll.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/status_macros.h"
#include "base/unix_socket.h"
#include "base/version.h"
#include "scheduler/agents/agent_hub.h"
#include "scheduler/config.h"
#include "scheduler/controller.h"
#include "scheduler/rpc/admin_service.h"
#include "scheduler/rpc/jobs_service.h"
#include "scheduler/rpc/nodes_service.h"
#include "scheduler/rpc/server.h"
#include "scheduler/store/backup.h"
#include "scheduler/store/progress_store.h"
#include "scheduler/store/sqlite_store.h"
#include "scheduler/store/state_dir.h"

namespace sinew {
namespace {

constexpr int kConfigurationExit = 78;  // EX_CONFIG: a restart does not help
constexpr int kDiskErrorExit = 74;

int Refuse(const absl::Status& status) {
  std::fprintf(stderr, "sinewd: %s\n", std::string(status.message()).c_str());
  return absl::IsDataLoss(status) ? kDiskErrorExit : kConfigurationExit;
}

std::string Text(const StateFacts& facts) {
  return std::to_string(facts.jobs) + " jobs (" + std::to_string(facts.live_jobs) + " not ended), " +
         std::to_string(facts.nodes) + " nodes, revision " + std::to_string(facts.revision) + ", cluster " + facts.cluster_id;
}

// Writes progress of running jobs to its own database, wakes watchers, and watches the agents.
void Tick(AgentHub& hub, ProgressBoard& progress, ChangeFeed& changes, ProgressStore& kept, bool last) {
  const std::set<JobId> changed = progress.TakeChanged();
  for (const JobId job : changed) {
    changes.Touch(job);
    kept.Note(job);
  }
  kept.Write(progress, last);
  hub.Tick(MonoNs());
}

// Deletes jobs that ended long ago, some at a time. Not while the wall clock is not where the time that passed since
// the start would have it: a clock that jumps must not take the history along.
class Pruner {
 public:
  Pruner(Store& store, int64_t keep_ns) : store_(store), keep_ns_(keep_ns) {}
  absl::Status Tick() {
    const int64_t mono = MonoNs(), wall = WallNs();
    if (mono - last_ns_ < kEachNs) return absl::OkStatus();
    last_ns_ = mono;
    if (std::abs((wall - mono) - offset_ns_) > kJumpNs) {
      if (!warned_) spdlog::warn("msg=\"the wall clock jumped: old jobs are kept until it is back, or the next start\"");
      warned_ = true;
      return absl::OkStatus();
    }
    const auto deleted = store_.Prune(wall - keep_ns_, kJobs);
    if (deleted.ok() && *deleted > 0) spdlog::info("msg=\"deleted jobs that ended long ago\" jobs={}", *deleted);
    if (!deleted.ok()) spdlog::error("msg=\"cannot delete old jobs\" why=\"{}\"", std::string(deleted.status().message()));
    return absl::IsDataLoss(deleted.status()) ? deleted.status() : absl::OkStatus();
  }

 private:
  static constexpr int64_t kEachNs = 6'000'000'000, kJumpNs = 3600'000'000'000;
  static constexpr int kJobs = 500;  // at a time: commits wait meanwhile
  Store& store_;
  const int64_t keep_ns_;
  const int64_t offset_ns_ = WallNs() - MonoNs();
  int64_t last_ns_ = 0;
  bool warned_ = false;
};

absl::Status Serve(const Config& config, UniqueFd signals, std::unique_ptr<Pipeline> pipeline) {
  ASSIGN_OR_RETURN(const UniqueFd lock, LockStateDir(config.state_dir));
  ASSIGN_OR_RETURN(auto store, SqliteStore::Open(DatabasePath(config.state_dir)));
  const std::string cluster_id = store->cluster_id();
  EngineOptions options;
  options.start_limit = {config.start_limit_ns};
  ASSIGN_OR_RETURN(RestoredState restored, store->Load(options.ended_jobs_in_memory));
  const size_t live = std::count_if(restored.jobs.begin(), restored.jobs.end(),
                                    [](const JobPtr& job) { return !IsEnd(job->state); });
  spdlog::info("msg=\"state restored\" revision={} live_jobs={} nodes={}", restored.last_revision, live,
               restored.nodes.size());
  auto engine = std::make_unique<Engine>(options, std::move(pipeline));
  engine->Restore(std::move(restored), {MonoNs(), WallNs()});

  ProgressBoard progress;
  ASSIGN_OR_RETURN(auto kept_progress, ProgressStore::Open(config.state_dir + "/progress.db"));
  RETURN_IF_ERROR(kept_progress->Load(progress));

  RETURN_IF_ERROR(MakeFolders(std::filesystem::path(config.socket).parent_path(), 0755));
  ASSIGN_OR_RETURN(UniqueFd listener,
                   ListenUnix(config.socket, SOCK_STREAM, static_cast<mode_t>(config.socket_mode)));
  RpcServer server(std::move(listener), {});
  const auto caller_of = [&server](const std::string& peer) { return server.CallerOf(peer); };
  const Identity identity(caller_of);
  Controller controller({}, std::move(engine), std::move(store));
  ChangeFeed changes;
  LogRelay logs;
  AgentHub hub({cluster_id, config.agent_uids}, controller, progress, logs, caller_of);
  JobsService jobs(controller, progress, logs, changes, identity);
  NodesService nodes(controller, [&hub](const std::string& node) { return hub.LastHeard(node); }, identity);
  ClusterService cluster(controller, identity);
  AdminService admin(controller, identity, config.state_dir);
  controller.AddListener(&hub);
  controller.AddListener(&changes);
  controller.Start();
  for (const ConfiguredNode& node : config.nodes) {
    NodeRegisteredEvent event;
    event.from_configuration = true;
    event.node.name = node.name;
    event.node.pool = node.pool;
    controller.Post(std::move(event));
  }
  RETURN_IF_ERROR(server.Start({&jobs, &nodes, &cluster, &admin, &hub}));
  spdlog::info("msg=\"serving\" version={} socket={} policy={}", kVersion, config.socket, config.policy.name);
  SdNotify("READY=1");

  Pruner pruner(controller.store(), config.keep_jobs_ns);
  bool healthy = true;
  const int64_t watchdog_ns = static_cast<int64_t>(WatchdogPingMs()) * 1'000'000;
  int64_t pinged = 0;
  while (true) {
    pollfd waits = {signals.get(), POLLIN, 0};
    ::poll(&waits, 1, 250);
    if (const int signal = NextSignal(signals.get()); signal == SIGTERM || signal == SIGINT) break;
    Tick(hub, progress, changes, *kept_progress, false);
    if (!pruner.Tick().ok()) std::_Exit(kDiskErrorExit);
    if (const bool now_healthy = controller.WriteHealth().ok(); now_healthy != healthy) {
      healthy = now_healthy;
      server.SetServing(healthy);
    }
    // The controller's own thread answers reads under its lock: a wedged one gets no ping.
    if (watchdog_ns > 0 && MonoNs() - pinged > watchdog_ns) {
      controller.Read([](const Engine&) {});
      SdNotify("WATCHDOG=1");
      pinged = MonoNs();
    }
  }
  spdlog::info("msg=\"stopping; jobs go on\"");
  SdNotify("STOPPING=1");
  changes.Close();
  hub.Shutdown();
  logs.Shutdown();
  server.Stop(2000);
  controller.Stop();
  Tick(hub, progress, changes, *kept_progress, true);
  ::unlink(config.socket.c_str());
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app("The scheduler daemon of Sinew");
  std::string file, check_state, restore;
  bool init = false, check = false;
  app.add_option("--config", file, "sinewd.yaml")->type_name("FILE");
  app.add_flag("--init", init, "make an empty state in state_dir, which must not hold one, and exit");
  app.add_flag("--check-config", check, "read the configuration, say what is wrong with it, and exit");
  app.add_option("--restore", restore, "put a backup into state_dir, which must not hold a state, and exit")
      ->type_name("FILE");
  app.add_option("--check-state", check_state, "read all of a backup, say what is in it or wrong with it, and exit")
      ->type_name("FILE");
  app.set_version_flag("--version", std::string("sinewd ") + kVersion);
  app.footer("Exit status: 0 stopped by a signal, 74 the disk failed, 78 the configuration or the state needs a person.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (!check_state.empty()) {
    const auto facts = CheckState(check_state);
    if (!facts.ok()) return Refuse(facts.status());
    std::printf("%s is whole: %s\n", check_state.c_str(), Text(*facts).c_str());
    return 0;
  }
  if (file.empty()) {
    std::fprintf(stderr, "sinewd: --config is missing; name the configuration, such as /etc/sinew/sinewd.yaml\n");
    return 2;
  }
  // Before any thread, so that all inherit the mask.
  auto signals = TakeSignals();
  if (!signals.ok()) return Refuse(signals.status());
  spdlog::set_default_logger(spdlog::stderr_logger_mt("sinewd"));
  spdlog::set_pattern("ts=%Y-%m-%dT%H:%M:%S.%e level=%l %v");

  const auto config = ReadConfig(file);
  if (!config.ok()) return Refuse(config.status());
  auto pipeline = Pipeline::Make(Registry::WithBuiltIns(), config->policy);
  if (!pipeline.ok()) {
    return Refuse(absl::InvalidArgumentError(file + ": policy " + config->policy.name + ": " +
                                             std::string(pipeline.status().message())));
  }
  if (check) {
    std::printf("%s is fine\n", file.c_str());
    return 0;
  }
  if (!restore.empty()) {
    const auto facts = RestoreState(restore, config->state_dir);
    if (!facts.ok()) return Refuse(facts.status());
    std::printf("restored %s from %s: %s\n", config->state_dir.c_str(), restore.c_str(), Text(*facts).c_str());
    return 0;
  }
  if (init) {
    if (const absl::Status status = InitStateDir(config->state_dir); !status.ok()) return Refuse(status);
    std::printf("made an empty state in %s\n", config->state_dir.c_str());
    return 0;
  }
  spdlog::set_level(spdlog::level::from_str(config->log_level));
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 65'536);
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  if (const absl::Status status = Serve(*config, *std::move(signals), *std::move(pipeline)); !status.ok()) {
    return Refuse(status);
  }
  return 0;
}

}  // namespace
}  // namespace sinew

int main(int argc, char** argv) { return sinew::Main(argc, argv); }
