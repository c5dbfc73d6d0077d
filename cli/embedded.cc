// SPDX-License-Identifier: Apache-2.0
#include "cli/embedded.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/clock.h"
#include "base/errno_status.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "cli/client.h"
#include "cli/layout.h"
#include "cli/process.h"
#include "spec/reason_text.h"

namespace sinew::cli {
namespace {

constexpr int64_t kNodesUpNs = 30'000'000'000;
constexpr int64_t kSocketUpNs = 20'000'000'000;
constexpr int64_t kJobsGoneNs = 45'000'000'000;
constexpr int kStopMs = 10'000;

std::vector<std::string> NodeNames(int count) {
  std::vector<std::string> names;
  if (count == 1) {
    char host[HOST_NAME_MAX + 1] = "localhost";
    ::gethostname(host, sizeof(host) - 1);
    std::string name = host;
    name = name.substr(0, std::min<size_t>(name.find('.'), 30));
    for (char& c : name) {
      if (isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
      c = static_cast<char>(tolower(c));
    }
    return {name.empty() ? "localhost" : name};
  }
  for (int i = 1; i <= count; ++i) names.push_back("node-" + std::to_string(i));
  return names;
}

// The run folder holds sockets through which tasks are started: nobody else may own or write it.
absl::Status MakeRunFolder(const std::string& path) {
  RETURN_IF_ERROR(MakeFolders(path, 0700));
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return ErrnoStatus("look at", path);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::getuid() || (info.st_mode & 022) != 0) {
    return absl::PermissionDeniedError("the folder for sockets, " + path +
                                       ", belongs to or is writable by somebody else; remove it, or choose another with --dir");
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> Lock(const Layout& layout) {
  const std::string path = layout.run + "/lock";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus("open", path);
  while (::flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return ErrnoStatus("lock", path);
  }
  return fd;
}

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

bool IsEmptyOrMissing(const std::string& dir) {
  const auto names = ListDir(dir);
  return !names.ok() || names->empty();
}

class Starter {
 public:
  Starter(const Options& options, Layout layout) : options_(options), layout_(std::move(layout)) {}

  absl::StatusOr<int> Run() {
    RETURN_IF_ERROR(MakeRunFolder(layout_.run));
    ASSIGN_OR_RETURN(const UniqueFd lock, Lock(layout_));
    ASSIGN_OR_RETURN(running_, ReadRecord(layout_.record));
    running_.erase(std::remove_if(running_.begin(), running_.end(), [](const Process& p) { return !IsAlive(p); }),
                   running_.end());
    RETURN_IF_ERROR(ChooseNodes());
    if (Runs("sinewd") && AllRun() && ProbeSocket(layout_.socket).ok()) {
      std::printf("the cluster is already running with %zu node%s\n", nodes_.size(), nodes_.size() == 1 ? "" : "s");
      Places();
      return 0;
    }
    if (!Runs("sinewd") && ProbeSocket(layout_.socket).ok()) {
      std::printf("a daemon is already running at %s; it was not started by `sinew up`\n", layout_.socket.c_str());
      return 0;
    }
    const size_t before = running_.size();
    const absl::Status status = Start();
    if (!status.ok()) {
      for (size_t i = running_.size(); i-- > before;) Stop(running_[i], kStopMs);
      running_.resize(before);
      (void)WriteRecord(layout_.record, running_);
      return status;
    }
    std::printf("the cluster is running with %zu node%s:", nodes_.size(), nodes_.size() == 1 ? "" : "s");
    for (const std::string& node : nodes_) std::printf(" %s", node.c_str());
    std::printf("\n");
    Places();
    std::printf("try: sinew submit -- hostname\n");
    return 0;
  }

 private:
  bool Runs(const std::string& name) const {
    return std::any_of(running_.begin(), running_.end(), [&](const Process& p) { return p.name == name; });
  }
  bool AllRun() const {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [&](const std::string& n) { return Runs("agent-" + n) && Runs("launcher-" + n); });
  }
  void Places() const {
    std::printf("  socket  %s\n  state   %s\n  logs    %s/log\n", layout_.socket.c_str(), layout_.data.c_str(),
                layout_.data.c_str());
    if (!options_.dir.empty()) std::printf("  use it  sinew --dir %s ..., or export SINEW_SOCKET=%s\n", options_.dir.c_str(), layout_.socket.c_str());
  }

  // Those that run, or those asked for. A cluster that runs is not changed in size.
  absl::Status ChooseNodes() {
    for (const Process& p : running_) {
      if (p.name.rfind("agent-", 0) == 0) nodes_.push_back(p.name.substr(6));
    }
    if (nodes_.empty() || !Runs("sinewd")) {
      nodes_ = NodeNames(options_.nodes == 0 ? 1 : options_.nodes);
    } else if (options_.nodes != 0 && static_cast<size_t>(options_.nodes) != nodes_.size()) {
      return absl::FailedPreconditionError("the cluster is already running with " + std::to_string(nodes_.size()) +
                                           " nodes; `sinew down` first, to have " + std::to_string(options_.nodes));
    }
    if (options_.hardware.empty()) return absl::OkStatus();
    char path[PATH_MAX];
    if (::realpath(options_.hardware.c_str(), path) == nullptr) {
      return absl::InvalidArgumentError("--hardware " + options_.hardware + ": " + std::strerror(errno));
    }
    hardware_ = path;
    return absl::OkStatus();
  }

  absl::Status Start() {
    RETURN_IF_ERROR(MakeFolders(layout_.config.substr(0, layout_.config.rfind('/')), 0700));
    ASSIGN_OR_RETURN(const std::string sinewd, FindProgram("sinewd"));
    ASSIGN_OR_RETURN(const std::string agent, FindProgram("sinew-agent"));
    ASSIGN_OR_RETURN(const std::string launcher, FindProgram("sinew-launcher"));
    RETURN_IF_ERROR(MakeState(sinewd));
    RETURN_IF_ERROR(MakeFolders(layout_.data + "/log", 0700));
    if (!Runs("sinewd")) {
      ::unlink(layout_.socket.c_str());
      RETURN_IF_ERROR(Begin("sinewd", {sinewd, "--config", layout_.config}));
    }
    const int64_t socket_limit = MonoNs() + kSocketUpNs;
    for (absl::Status status; !(status = ProbeSocket(layout_.socket)).ok(); ::usleep(20'000)) {
      RETURN_IF_ERROR(NoneDied());
      if (MonoNs() > socket_limit) return status;
    }
    const std::string uid = std::to_string(::getuid());
    for (const std::string& node : nodes_) {
      RETURN_IF_ERROR(MakeFolders(layout_.AgentState(node), 0700));
      RETURN_IF_ERROR(MakeFolders(layout_.Spool(node), 0700));
      RETURN_IF_ERROR(Begin("launcher-" + node, {launcher, "--socket", layout_.LauncherSocket(node), "--spool",
                                                 layout_.Spool(node), "--agent-uid", uid, "--single-user"}));
      std::vector<std::string> argv = {agent, "--node", node, "--controller", layout_.socket, "--launcher",
                                       layout_.LauncherSocket(node), "--state-dir", layout_.AgentState(node)};
      if (!hardware_.empty()) argv.insert(argv.end(), {"--hardware", hardware_});
      RETURN_IF_ERROR(Begin("agent-" + node, argv));
    }
    return WaitForNodes();
  }

  // The state is made once. Where a marker says that there was one and it is gone, only the user may accept the loss.
  absl::Status MakeState(const std::string& sinewd) {
    const bool marked = ::access(layout_.marker.c_str(), F_OK) == 0;
    const bool gone = IsEmptyOrMissing(layout_.state_dir);
    if (marked && gone) {
      RETURN_IF_ERROR(WriteConfig());
      return absl::FailedPreconditionError("the state of this cluster, " + layout_.state_dir +
                                           ", is gone: restore it, or accept that all its jobs are lost with `" + sinewd +
                                           " --config " + layout_.config + " --init` and run `sinew up` again");
    }
    RETURN_IF_ERROR(MakeFolders(layout_.data + "/log", 0700));
    RETURN_IF_ERROR(WriteConfig());
    if (gone) {
      const std::string log = layout_.Log("sinewd");
      ASSIGN_OR_RETURN(const int code, RunToEnd({sinewd, "--config", layout_.config, "--init"}, log));
      if (code != 0) {
        return absl::InternalError("sinewd --init exited with " + std::to_string(code) + ": " + LastLines(log, 3));
      }
    }
    return marked ? absl::OkStatus() : WriteFileAtomic(layout_.marker, "The state was made; see sinewd.yaml.\n", 0600);
  }

  absl::Status WriteConfig() {
    return WriteFileAtomic(layout_.config,
                           "# Written by `sinew up` at each start; changes to it are lost.\nstate_dir: " +
                               Quoted(layout_.state_dir) + "\nsocket: " + Quoted(layout_.socket) +
                               "\nagents: {uids: [" + std::to_string(::getuid()) + "]}\n",
                           0600);
  }

  absl::Status Begin(const std::string& name, const std::vector<std::string>& argv) {
    if (Runs(name)) return absl::OkStatus();
    ASSIGN_OR_RETURN(Process process, Spawn(name, argv, layout_.Log(name)));
    running_.push_back(std::move(process));
    return WriteRecord(layout_.record, running_);
  }

  absl::Status NoneDied() const {
    for (const Process& p : running_) {
      if (IsAlive(p)) continue;
      const std::string log = layout_.Log(p.name);
      return absl::InternalError(p.name + " ended at once: " + LastLines(log, 3) + "; its log is " + log);
    }
    return absl::OkStatus();
  }

  absl::Status WaitForNodes() {
    Client client(layout_.socket);
    const int64_t limit = MonoNs() + kNodesUpNs;
    for (;; ::usleep(50'000)) {
      RETURN_IF_ERROR(NoneDied());
      std::set<std::string> missing(nodes_.begin(), nodes_.end());
      const auto listed = client.ListNodes();
      if (listed.ok()) {
        for (const v1::Node& node : listed->nodes()) {
          if (node.state() == v1::UP) missing.erase(node.name().substr(node.name().rfind('/') + 1));
        }
        if (missing.empty()) return absl::OkStatus();
      }
      if (MonoNs() <= limit) continue;
      if (!listed.ok()) return listed.status();
      return absl::InternalError("node " + *missing.begin() + " is not UP after 30 s: " +
                                 LastLines(layout_.Log("agent-" + *missing.begin()), 3));
    }
  }

  const Options& options_;
  const Layout layout_;
  std::vector<std::string> nodes_;
  std::string hardware_;
  std::vector<Process> running_;
};

// Cancels all that has not ended, and waits until it has.
absl::Status EndJobs(const Layout& layout) {
  if (!ProbeSocket(layout.socket).ok()) return absl::OkStatus();
  Client client(layout.socket);
  std::set<std::string> cancelled;
  for (const int64_t limit = MonoNs() + kJobsGoneNs; MonoNs() < limit; ::usleep(100'000)) {
    ASSIGN_OR_RETURN(const auto listed, client.ListJobs(true, false));
    bool live = false;
    for (const v1::Job& job : listed.jobs()) {
      if (IsEnd(job.state())) continue;
      live = true;
      if (cancelled.insert(job.name()).second) (void)client.Cancel(job.name());
    }
    if (live) continue;
    if (!cancelled.empty()) std::printf("%zu job%s cancelled\n", cancelled.size(), cancelled.size() == 1 ? "" : "s");
    return absl::OkStatus();
  }
  return absl::DeadlineExceededError("some jobs did not end");
}

}  // namespace

absl::StatusOr<int> Up(const Options& options) { return Starter(options, EmbeddedLayout(options.dir)).Run(); }

absl::StatusOr<int> Down(const Options& options) {
  const Layout layout = EmbeddedLayout(options.dir);
  if (::access(layout.run.c_str(), F_OK) != 0) {
    std::printf("no cluster is running here\n");
    return 0;
  }
  ASSIGN_OR_RETURN(const UniqueFd lock, Lock(layout));
  ASSIGN_OR_RETURN(std::vector<Process> processes, ReadRecord(layout.record));
  const bool any = std::any_of(processes.begin(), processes.end(), IsAlive);
  // Jobs that do not end in time are ended below, with their shims.
  if (any && !options.keep_jobs) (void)EndJobs(layout);
  // Agents first, so that nothing new starts; the daemon last, so that it hears them out.
  for (const char* kind : {"agent-", "launcher-", "sinewd"}) {
    for (const Process& p : processes) {
      if (p.name.rfind(kind, 0) == 0) Stop(p, kStopMs);
    }
  }
  if (!options.keep_jobs) {
    for (const Process& p : processes) {
      if (p.name.rfind("launcher-", 0) == 0) KillShims(layout.Spool(p.name.substr(9)));
    }
  }
  for (const Process& p : processes) {
    if (IsAlive(p)) return absl::InternalError(p.name + " (process " + std::to_string(p.pid) + ") cannot be stopped");
    if (p.name.rfind("launcher-", 0) == 0) ::unlink(layout.LauncherSocket(p.name.substr(9)).c_str());
  }
  if (any) ::unlink(layout.socket.c_str());
  RETURN_IF_ERROR(WriteRecord(layout.record, {}));
  std::printf(any ? "the cluster is stopped; its state stays in %s\n" : "no cluster is running here\n", layout.data.c_str());
  return 0;
}

}  // namespace sinew::cli
