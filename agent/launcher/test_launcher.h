// SPDX-License-Identifier: Apache-2.0
// A launcher process in a temporary folder, for tests and measurements. One thread.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "agent/launcher/client.h"
#include "agent/launcher/users.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"

namespace sinew::launcher {

inline constexpr std::int64_t kPatienceMs = 60'000;  // a limit on waiting, never a measurement

inline bool Eventually(const std::function<bool()>& probe) {
  for (const std::int64_t end = MonoNs() + kPatienceMs * 1'000'000; MonoNs() < end; ::usleep(5'000))
    if (probe()) return true;
  return false;
}

inline std::vector<std::string> Pids() {
  std::vector<std::string> pids;
  std::vector<std::string> names = ListDir("/proc").value();
  for (std::string& name : names)
    if (name[0] > '0' && name[0] <= '9') pids.push_back(std::move(name));
  return pids;
}

class TestLauncher {
 public:
  // more: flags besides those that say where everything is.
  explicit TestLauncher(std::vector<std::string> more = {"--single-user"}, uid_t agent_uid = ::getuid())
      : more_(std::move(more)), agent_uid_(agent_uid) {
    char name[] = "/tmp/sinew-launcher-XXXXXX";
    if (::mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp");
    dir_ = name;
    ::chmod(name, 0755);
    ::mkdir((dir_ + "/work").c_str(), 0777);
    ::chmod((dir_ + "/work").c_str(), 0777);
    StartProcess();
  }
  ~TestLauncher() {
    client_.reset();
    if (pid_ > 0) End(SIGKILL);
    // What tests left running: the shims of this spool, whose tasks then go with them.
    for (const std::string& pid : Pids()) {
      const auto line = ReadFile("/proc/" + pid + "/cmdline", 1 << 20);
      if (line.ok() && line->find(dir_) != std::string::npos && std::atoi(pid.c_str()) != ::getpid())
        ::kill(std::atoi(pid.c_str()), SIGKILL);
    }
    std::filesystem::remove_all(dir_);
  }

  void StartProcess() {
    SpawnOptions spawn;
    spawn.program = "agent/launcher/sinew-launcher";
    spawn.argv = {spawn.program, "--socket", socket(), "--spool", spool(), "--agent-uid", std::to_string(agent_uid_)};
    spawn.argv.insert(spawn.argv.end(), more_.begin(), more_.end());
    auto spawned = Spawn(spawn);
    if (!spawned.ok()) throw std::runtime_error(spawned.status().ToString());
    pid_ = spawned->pid;
    auto connected = [this] {
      auto client = LauncherClient::Connect(socket());
      if (client.ok()) client_.emplace(std::move(*client));
      return client.ok();
    };
    if (!Eventually(connected)) throw std::runtime_error("the launcher does not listen");
  }
  int End(int signal) {
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }

  // The reply to it; events met on the way are kept in `events`. The list's pages are put together.
  v1::LauncherReply Ask(v1::LauncherRequest request) {
    request.set_id(++last_id_);
    if (const auto sent = client_->Send(request); !sent.ok()) throw std::runtime_error(sent.ToString());
    v1::LauncherReply whole;
    for (;;) {
      const v1::LauncherReply reply = Next();
      if (reply.id() == 0) {
        for (const auto& task : reply.tasks()) events[task.task()].push_back(task);
        continue;
      }
      if (reply.id() != last_id_) throw std::runtime_error("a reply to another request");
      whole.MergeFrom(reply);
      if (!reply.more()) return whole;
    }
  }
  v1::LauncherReply Next() {
    for (;;) {
      auto reply = client_->Receive();
      if (!reply.ok()) throw std::runtime_error(reply.status().ToString());
      if (reply->has_value()) return **reply;
      pollfd readable = {client_->fd(), POLLIN, 0};
      if (::poll(&readable, 1, kPatienceMs) <= 0) throw std::runtime_error("no word from the launcher");
    }
  }

  v1::StartTask Task(const std::string& name, std::vector<std::string> argv, uid_t uid = ::getuid()) {
    v1::StartTask start;
    start.set_task(name);
    for (std::string& word : argv) start.add_argv(std::move(word));
    start.add_env("PATH=/usr/bin:/bin");
    start.add_env("SINEW_TEST=" + dir_);
    start.set_workdir(work());
    start.set_uid(uid);
    const auto user = users_.Find(uid);
    if (user.ok()) {
      start.set_gid(user->gid);
      start.set_user(user->name);
    }
    return start;
  }
  v1::LauncherReply Start(const v1::StartTask& task) {
    v1::LauncherRequest request;
    *request.mutable_start() = task;
    return Ask(request);
  }
  v1::LauncherReply Stop(const std::string& task, std::int64_t grace_ns, int signal = 0) {
    v1::LauncherRequest request;
    request.mutable_stop()->set_task(task);
    request.mutable_stop()->set_grace_ns(grace_ns);
    request.mutable_stop()->set_signal(signal);
    return Ask(request);
  }
  v1::LauncherReply Forget(const std::string& task) {
    v1::LauncherRequest request;
    request.mutable_forget()->set_task(task);
    return Ask(request);
  }
  v1::LauncherReply List() {
    v1::LauncherRequest request;
    request.mutable_list();
    return Ask(request);
  }
  // By events, until it has ended.
  v1::TaskState WaitEnd(const std::string& task) {
    for (;;) {
      for (const auto& state : events[task])
        if (!state.running()) return state;
      const v1::LauncherReply reply = Next();
      for (const auto& state : reply.tasks()) events[state.task()].push_back(state);
    }
  }
  v1::TaskState Run(const v1::StartTask& task) {
    const v1::LauncherReply reply = Start(task);
    if (!reply.error().empty()) throw std::runtime_error(reply.error());
    return WaitEnd(task.task());
  }
  std::string Output(const std::string& task, const char* name = "out") {
    return ReadFile(spool() + "/logs/" + task + "." + name).value_or("");
  }
  // Live processes of this launcher's tasks.
  std::vector<pid_t> Processes() const {
    std::vector<pid_t> pids;
    for (const std::string& pid : Pids()) {
      const auto env = ReadFile("/proc/" + pid + "/environ", 1 << 20);
      if (env.ok() && env->find("SINEW_TEST=" + dir_) != std::string::npos) pids.push_back(std::atoi(pid.c_str()));
    }
    return pids;
  }
  std::vector<pid_t> Shims() const {
    std::vector<pid_t> pids;
    for (const std::string& pid : Pids()) {
      const auto line = ReadFile("/proc/" + pid + "/cmdline", 1 << 20);
      if (line.ok() && line->rfind("sinew-shim" + std::string(1, '\0') + spool(), 0) == 0)
        pids.push_back(std::atoi(pid.c_str()));
    }
    return pids;
  }

  LauncherClient& client() { return *client_; }
  pid_t pid() const { return pid_; }
  std::string dir() const { return dir_; }
  std::string work() const { return dir_ + "/work"; }
  std::string spool() const { return dir_ + "/spool"; }
  std::string socket() const { return dir_ + "/socket"; }
  std::map<std::string, std::vector<v1::TaskState>> events;

 private:
  const std::vector<std::string> more_;
  const uid_t agent_uid_;
  std::string dir_;
  pid_t pid_ = 0;
  std::optional<LauncherClient> client_;
  std::uint64_t last_id_ = 0;
  Users users_;
};

}  // namespace sinew::launcher
