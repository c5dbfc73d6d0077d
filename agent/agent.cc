// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/status_macros.h"

namespace sinew::agent {
namespace {

constexpr int kTickMs = 100;
constexpr int kTailLines = 20;

std::string Secret() {
  unsigned char bytes[16];
  for (size_t have = 0; have < sizeof(bytes);) {
    const ssize_t got = ::getrandom(bytes + have, sizeof(bytes) - have, 0);
    if (got > 0) have += static_cast<size_t>(got);
  }
  std::string out;
  char digits[3];
  for (const unsigned char byte : bytes) {
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    out += digits;
  }
  return out;
}

// A port that nobody listens on at this moment. Whoever is to listen there takes it seconds later, so another program
// may be faster; a run that fails for it says so.
int32_t FreePort() {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  if (!fd.valid() || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

}  // namespace

Agent::Agent(AgentOptions options)
    : options_(std::move(options)),
      launcher_(options_.launcher, {[this](const v1::LauncherReply& list) { OnListed(list); },
                                    [this](const v1::LauncherReply& reply) { OnReply(reply); },
                                    [this](const std::string& why) { OnLost(why); }}),
      runtime_(options_.facts.runtime_socket,
               {[this](const Key& key, const std::string& token, uid_t uid) { return Admit(key, token, uid); },
                [this](const Key& key, std::map<std::string, std::string> values) {
                  mailbox_.Post([this, key, values = std::move(values)] {
                    if (session_) Do(session_->OnValues(key, values));
                  });
                },
                [this] { mailbox_.Post([this] { TakeProgress(); }); }}) {}

// Whoever waits for the loop is let go before the threads are waited for.
Agent::~Agent() {
  mailbox_.Close();
  runtime_.Stop();
  if (logs_) logs_->Stop();
  if (daemon_) daemon_->Stop();
}

absl::Status Agent::Run(int signal_fd) {
  RETURN_IF_ERROR(runtime_.Start());
  const int64_t watchdog_ns = static_cast<int64_t>(WatchdogPingMs()) * 1'000'000;
  int64_t pinged = 0, ticked = 0;
  while (refused_.empty()) {
    pollfd waits[] = {{signal_fd, POLLIN, 0}, {mailbox_.fd(), POLLIN, 0}, {launcher_.fd(), POLLIN, 0}};
    ::poll(waits, 3, kTickMs);
    if (const int signal = NextSignal(signal_fd); signal == SIGTERM || signal == SIGINT) {
      spdlog::info("msg=\"stopping; tasks go on\" tasks={}", session_ ? session_->held() : 0);
      SdNotify("STOPPING=1");
      return absl::OkStatus();
    }
    mailbox_.Run();
    launcher_.Receive();
    const int64_t now = MonoNs();
    launcher_.Tick(now);
    if (session_ && now - ticked >= kTickMs * 1'000'000) {
      ticked = now;
      Do(session_->OnTick(now));
    }
    if (watchdog_ns > 0 && now - pinged > watchdog_ns) {
      pinged = now;
      SdNotify("WATCHDOG=1");
    }
  }
  return absl::FailedPreconditionError("the daemon refuses this agent: " + refused_);
}

// --- the launcher --------------------------------------------------------------------------------------------------

void Agent::OnListed(const v1::LauncherReply& list) {
  if (!list.error().empty()) return OnLost(list.error());
  log_dir_ = list.log_dir();
  if (!session_) OpenSession(list);
  spdlog::info("msg=\"the launcher answers\" tasks={} cgroup={}", list.tasks_size(), list.cgroup());
  Do(session_->OnLauncherList({list.tasks().begin(), list.tasks().end()}, MonoNs(), BootNs()));
}

void Agent::OnReply(const v1::LauncherReply& reply) { Do(session_->OnLauncherReply(reply, MonoNs())); }

void Agent::OnLost(const std::string& why) {
  spdlog::warn("msg=\"no launcher; tasks that run go on\" why=\"{}\"", why);
  if (session_) session_->OnLauncherLost();
}

void Agent::OpenSession(const v1::LauncherReply& list) {
  options_.facts.info.set_cgroup(list.cgroup());
  const NodeFacts& facts = options_.facts;
  const std::string id = Secret();
  Session::Hooks hooks;
  hooks.free_port = FreePort;
  hooks.token = Secret;
  hooks.check = [&facts](const v1::TaskBody& body) { return WhyNot(body, facts); };
  hooks.start = [&facts](const Note& note, const v1::DesiredTask& desired) { return MakeStart(note, desired, facts); };
  hooks.log_tail = [this](const Note& note) {
    std::vector<std::string> lines;
    for (const bool errors : {true, false}) {
      const LogPlace place = PlaceOf(note, errors);
      if (lines.empty()) lines = LastLines(place.path, place.owner, kTailLines);
    }
    return lines;
  };
  session_ = std::make_unique<Session>(facts.node, id, facts.info, std::move(hooks));
  const auto channel = DaemonChannel(options_.controller);
  daemon_ = std::make_unique<ControllerClient>(
      channel, ControllerClient::Events{
                   [this](uint64_t stream) {
                     mailbox_.Post([this, stream] {
                       stream_ = stream;
                       Do(session_->OnConnected(MonoNs()));
                     });
                   },
                   [this](uint64_t stream, v1::ControllerMessage message) {
                     mailbox_.Post([this, stream, message = std::move(message)] {
                       if (message.has_welcome()) {
                         spdlog::info("msg=\"registered\" node={}", options_.facts.node);
                       }
                       if (stream == stream_) Do(session_->OnMessage(message, MonoNs()));
                     });
                   },
                   [this](uint64_t stream, std::string why) {
                     mailbox_.Post([this, stream, why = std::move(why)] {
                       if (!why.empty()) {
                         spdlog::warn("msg=\"no stream to the daemon; tasks go on\" socket={} why=\"{}\"",
                                      options_.controller, why);
                       }
                       if (stream != stream_) return;
                       stream_ = 0;
                       session_->OnDisconnected();
                     });
                   }});
  daemon_->Start();
  logs_ = std::make_unique<LogServer>(channel, facts.node, id,
                                      [this](const Key& key, bool errors) { return Locate(key, errors); });
  logs_->Start();
  SdNotify("READY=1");
}

// --- what the session says -----------------------------------------------------------------------------------------

void Agent::Do(Session::Out out) {
  if (!out.send.empty()) daemon_->Send(stream_, std::move(out.send));
  launcher_.Send(out.launch);
  for (const Session::PeersFor& to : out.peers) {
    v1::RuntimeMessage message;
    auto& values = *message.mutable_peers()->mutable_values();
    for (const auto& [name, value] : to.values) values[name] = value;
    runtime_.Tell(to.key, std::move(message));
  }
  for (const Key& key : out.stopping) {
    v1::RuntimeMessage message;
    message.mutable_stop()->set_reason("the job is being stopped");
    if (const Note* note = session_->NoteOf(key)) message.mutable_stop()->set_deadline_ns(note->body().grace_ns());
    runtime_.Tell(key, std::move(message));
  }
  if (out.reconnect) {
    spdlog::warn("msg=\"the daemon and this agent disagree; the stream is opened anew\"");
    daemon_->Restart(stream_);
  }
  if (!out.refused.empty()) refused_ = out.refused;
}

// --- tasks and logs ------------------------------------------------------------------------------------------------

void Agent::TakeProgress() {
  for (const auto& [key, progress] : runtime_.TakeProgress()) {
    if (session_) Do(session_->OnProgress(key, progress));
  }
}

grpc::Status Agent::Admit(const Key& key, const std::string& token, uid_t uid) {
  grpc::Status status(grpc::StatusCode::UNAVAILABLE, "the agent is stopping");
  mailbox_.Call([&] {
    if (!session_) {
      status = {grpc::StatusCode::UNAVAILABLE, "the agent has not heard of its launcher yet"};
    } else if (!session_->Knows(key, token) || (uid != 0 && session_->NoteOf(key)->body().uid() != uid)) {
      status = {grpc::StatusCode::PERMISSION_DENIED, "no task of yours on this node has that token"};
    } else {
      status = grpc::Status::OK;
    }
  });
  return status;
}

LogPlace Agent::PlaceOf(const Note& note, bool errors) const {
  const v1::TaskBody& body = note.body();
  if (std::string path = OutputPath(body, errors); !path.empty()) {
    return {std::move(path), body.uid(), false, ""};
  }
  return {log_dir_ + "/" + TaskName(KeyOf(body.key())) + (errors ? ".err" : ".out"), std::nullopt, false, ""};
}

LogPlace Agent::Locate(const Key& key, bool errors) {
  LogPlace place;
  place.error = "the agent is stopping";
  mailbox_.Call([&] {
    if (const Note* note = session_->NoteOf(key); note != nullptr && note->has_body()) {
      place = PlaceOf(*note, errors);
      place.ended = session_->HasEnded(key);
      return;
    }
    // The daemon has its end, and the session forgot it: what it wrote stays until the launcher's spool is pruned.
    place = {log_dir_ + "/" + TaskName(key) + (errors ? ".err" : ".out"), std::nullopt, true, ""};
    // An error log is kept only if something is in it: the other file says that the task is known here.
    if (::access((log_dir_ + "/" + TaskName(key) + ".out").c_str(), F_OK) != 0) {
      place.error = "node " + options_.facts.node +
                    " keeps no log of this task: it was pruned, or the job wrote to a file of its own (outputs)";
    }
  });
  return place;
}

}  // namespace sinew::agent
