// SPDX-License-Identifier: Apache-2.0
#include "agent/session/session.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

namespace sinew::agent {
namespace {

v1::TaskKey ToWire(const Key& key) {
  v1::TaskKey to;
  to.set_job(key.job);
  to.set_run(key.run);
  to.set_rank(key.rank);
  return to;
}

bool ParseName(const std::string& name, Key& key) {
  unsigned long long job = 0;
  unsigned run = 0;
  int rank = 0, used = 0;
  if (std::sscanf(name.c_str(), "%llu.%u.%d%n", &job, &run, &rank, &used) != 3) return false;
  if (used != static_cast<int>(name.size())) return false;
  key = {job, run, rank};
  return true;
}

}  // namespace

Key KeyOf(const v1::TaskKey& key) { return {key.job(), key.run(), key.rank()}; }

std::string TaskName(const Key& key) {
  return std::to_string(key.job) + "." + std::to_string(key.run) + "." + std::to_string(key.rank);
}

Session::Session(std::string node, std::string session_id, v1::NodeInfo info, Hooks hooks)
    : node_(std::move(node)), session_id_(std::move(session_id)), info_(std::move(info)), hooks_(std::move(hooks)) {}

const Note* Session::NoteOf(const Key& key) const {
  auto it = tasks_.find(key);
  return it == tasks_.end() ? nullptr : &it->second.note;
}

bool Session::HasEnded(const Key& key) const {
  auto it = tasks_.find(key);
  return it == tasks_.end() || it->second.state == State::kExited;
}

bool Session::Knows(const Key& key, const std::string& token) const {
  auto it = tasks_.find(key);
  return it != tasks_.end() && !token.empty() && it->second.note.token() == token;
}

// --- the daemon ----------------------------------------------------------------------------------------------------

Session::Out Session::OnConnected(int64_t now_ns) {
  Out out;
  connected_ = true;
  registered_ = false;
  welcome_ = false;
  revision_ = 0;
  if (launcher_) Register(now_ns, out);
  return out;
}

void Session::OnDisconnected() {
  connected_ = false;
  registered_ = false;
  welcome_ = false;
}

void Session::Register(int64_t now_ns, Out& out) {
  registered_ = true;
  now_ns_ = now_ns;
  v1::Register& to = *out.send.emplace_back().mutable_register_();
  to.set_node(node_);
  *to.mutable_info() = info_;
  to.set_session_id(session_id_);
  to.set_protocol(1);
  for (const auto& [key, task] : tasks_) {
    if (task.state == State::kBodyless) continue;
    v1::HeldTask& held = *to.add_held();
    *held.mutable_key() = ToWire(key);
    held.set_digest(task.note.digest());
    switch (task.state) {
      case State::kBodyless:
      case State::kPreparing: held.set_state("preparing"); break;
      case State::kReady: held.set_state("ready"); break;
      // A process at its rendezvous is not a run yet: what it set decides.
      case State::kStarting:
      case State::kRunning:
        held.set_state(task.stop_sent ? "stopping"
                       : task.note.body().rendezvous() && !task.told_peers && !task.adopted
                           ? (task.has_values ? "ready" : "preparing")
                           : "running");
        break;
      case State::kExited: held.set_state("exited"); break;
    }
    if (task.started_boot_ns > 0) held.set_running_for_ns(now_ns + boot_offset_ns_ - task.started_boot_ns);
  }
}

Session::Out Session::OnMessage(const v1::ControllerMessage& message, int64_t now_ns) {
  Out out;
  now_ns_ = now_ns;
  switch (message.kind_case()) {
    case v1::ControllerMessage::kWelcome:
      welcome_ = true;
      if (message.welcome().heartbeat_ns() > 0) heartbeat_ns_ = message.welcome().heartbeat_ns();
      last_heartbeat_ns_ = now_ns;
      last_repeat_ns_ = now_ns;
      SendReports(out);
      break;
    case v1::ControllerMessage::kDesired: OnDesired(message.desired(), out); break;
    case v1::ControllerMessage::kAck:
      while (!reports_.empty() && reports_.front().sequence() <= message.ack().sequence()) reports_.pop_front();
      break;
    case v1::ControllerMessage::kBodies:
      for (const v1::TaskBody& body : message.bodies().bodies()) Take(KeyOf(body.key()), body, out);
      break;
    case v1::ControllerMessage::kRefusal: out.refused = message.refusal().why(); break;
    case v1::ControllerMessage::KIND_NOT_SET: break;
  }
  return out;
}

void Session::OnDesired(const v1::DesiredState& state, Out& out) {
  if (!state.full() && state.base() != revision_) {
    if (state.revision() > revision_) out.reconnect = true;  // one was lost; an old one that comes again is nothing new
    return;
  }
  revision_ = state.revision();
  std::set<Key> named;
  for (const v1::DesiredTask& desired : state.tasks()) {
    const Key key = KeyOf(desired.key());
    named.insert(key);
    Task& task = tasks_[key];
    task.desired = desired;
    task.unwanted = false;
  }
  for (const v1::TaskBody& body : state.bodies()) Take(KeyOf(body.key()), body, out);
  std::vector<Key> absent;
  for (auto& [key, task] : tasks_) {
    if (state.full() && !named.contains(key)) absent.push_back(key);
  }
  for (const Key& key : absent) {
    Task& task = tasks_[key];
    task.unwanted = true;
    task.desired.set_phase(v1::STOP);
    Step(key, task, out);
  }
  for (const v1::TaskKey& wire : state.forget()) {
    const Key key = KeyOf(wire);
    auto it = tasks_.find(key);
    if (it == tasks_.end()) continue;
    it->second.unwanted = true;
    it->second.desired.set_phase(v1::STOP);
    Step(key, it->second, out);
  }
  v1::AgentMessage fetch;
  for (const Key& key : named) {
    auto it = tasks_.find(key);
    if (it == tasks_.end()) continue;
    if (it->second.state == State::kBodyless && it->second.desired.phase() != v1::STOP) {
      *fetch.mutable_fetch()->add_keys() = ToWire(key);
    } else {
      Step(key, it->second, out);
    }
  }
  if (fetch.has_fetch()) out.send.push_back(std::move(fetch));
  std::erase_if(tasks_, [](const auto& entry) { return entry.second.gone; });
}

void Session::Take(const Key& key, const v1::TaskBody& body, Out& out) {
  auto it = tasks_.find(key);
  if (it == tasks_.end() || it->second.state != State::kBodyless) return;
  Task& task = it->second;
  *task.note.mutable_body() = body;
  task.note.set_digest(task.desired.digest());
  task.state = State::kPreparing;
  if (const std::string why = hooks_.check(body); !why.empty()) return Refuse(key, task, why, out);
  task.note.set_token(hooks_.token());
  task.note.set_free_port(hooks_.free_port());
  Step(key, task, out);
}

// --- one task ------------------------------------------------------------------------------------------------------

// Does what the desired phase asks for and was not done yet. Idempotent.
void Session::Step(const Key& key, Task& task, Out& out) {
  const bool rendezvous = task.note.body().rendezvous();
  if (task.state == State::kExited) {
    if (task.unwanted) Forget(key, out);
    return;
  }
  if (task.desired.phase() == v1::STOP) return Stop(key, task, out);
  if (task.state == State::kBodyless) return;
  if (task.state == State::kPreparing) {
    if (rendezvous) return Start(key, task, out);
    task.state = State::kReady;
    v1::TaskReport report;
    report.mutable_ready()->set_free_port(task.note.free_port());
    Report(key, std::move(report), out);
  }
  if (task.desired.phase() != v1::GO) return;
  if (!rendezvous && task.state == State::kReady) return Start(key, task, out);
  if (rendezvous && task.state == State::kRunning && task.has_values && !task.told_peers) {
    task.told_peers = true;
    PeersFor peers{key, {}};
    for (const v1::Rendezvous& peer : task.desired.peers()) {
      for (const auto& [name, value] : peer.values()) peers.values[name] = value;
    }
    out.peers.push_back(std::move(peers));
    v1::TaskReport report;
    report.mutable_started();
    Report(key, std::move(report), out);
  }
}

void Session::Start(const Key& key, Task& task, Out& out) {
  task.state = State::kStarting;
  v1::LauncherRequest request;
  *request.mutable_start() = hooks_.start(task.note, task.desired);
  request.mutable_start()->set_task(TaskName(key));
  request.mutable_start()->set_note(task.note.SerializeAsString());
  Ask(key, std::move(request), out);
}

void Session::Stop(const Key& key, Task& task, Out& out) {
  if (task.state == State::kStarting) return;  // its answer comes, and then this again
  if (task.state != State::kRunning) {
    task.state = State::kExited;
    v1::TaskReport report;
    report.mutable_exited()->set_never_started(true);
    if (task.unwanted) return Forget(key, out);
    return Report(key, std::move(report), out);
  }
  if (task.stop_sent) return;
  task.stop_sent = true;
  v1::LauncherRequest request;
  request.mutable_stop()->set_task(TaskName(key));
  request.mutable_stop()->set_grace_ns(task.desired.stop_grace_ns() > 0 ? task.desired.stop_grace_ns()
                                                                        : task.note.body().grace_ns());
  out.stopping.push_back(key);
  Ask(key, std::move(request), out);
}

void Session::Ended(const Key& key, Task& task, const v1::TaskState& state, Out& out) {
  if (task.state == State::kExited) return;
  task.state = State::kExited;
  out.ended.push_back(key);
  v1::TaskReport report;
  v1::TaskExited& exited = *report.mutable_exited();
  exited.set_exit_code(state.exit_code());
  exited.set_signal(state.signal());
  exited.set_status_lost(state.status_lost());
  exited.set_cpu_ns(state.cpu_ns());
  exited.set_peak_memory_bytes(state.peak_memory_bytes());
  if (state.ended_boot_ns() > 0) {
    exited.set_ran_for_ns(std::max<int64_t>(0, state.ended_boot_ns() - state.started_boot_ns()));
  }
  if (state.exit_code() != 0 || state.signal() != 0 || state.status_lost()) {
    for (std::string& line : hooks_.log_tail(task.note)) exited.add_log_tail(std::move(line));
  }
  if (task.unwanted) return Forget(key, out);
  Report(key, std::move(report), out);
}

void Session::Refuse(const Key& key, Task& task, const std::string& why, Out& out) {
  task.state = State::kExited;
  out.ended.push_back(key);
  if (task.unwanted) return Forget(key, out);
  v1::TaskReport report;
  report.mutable_refused()->set_why(why);
  Report(key, std::move(report), out);
}

// The entry itself is dropped by the caller's sweep, so that loops over tasks_ stay whole.
void Session::Forget(const Key& key, Out& out) {
  Task& task = tasks_[key];
  if (task.gone) return;
  task.gone = true;
  std::erase_if(reports_, [&](const v1::TaskReport& report) { return KeyOf(report.key()) == key; });
  if (!task.in_launcher) return;
  v1::LauncherRequest request;
  request.mutable_forget()->set_task(TaskName(key));
  Ask(key, std::move(request), out);
}

void Session::Report(const Key& key, v1::TaskReport report, Out& out) {
  *report.mutable_key() = ToWire(key);
  report.set_sequence(++last_sequence_);
  reports_.push_back(report);
  if (welcome_) *out.send.emplace_back().mutable_report() = std::move(report);
}

void Session::SendReports(Out& out) {
  for (const v1::TaskReport& report : reports_) *out.send.emplace_back().mutable_report() = report;
}

// --- the launcher --------------------------------------------------------------------------------------------------

void Session::Ask(const Key& key, v1::LauncherRequest request, Out& out) {
  if (!launcher_) return;  // it is sent after the next list
  request.set_id(++last_request_);
  asked_[last_request_] = key;
  out.launch.push_back(std::move(request));
}

void Session::OnLauncherLost() {
  launcher_ = false;
  asked_.clear();
}

Session::Out Session::OnLauncherList(const std::vector<v1::TaskState>& tasks, int64_t now_ns, int64_t boot_ns) {
  Out out;
  now_ns_ = now_ns;
  boot_offset_ns_ = boot_ns - now_ns;
  launcher_ = true;
  std::set<Key> listed;
  for (const v1::TaskState& state : tasks) {
    Key key;
    if (!ParseName(state.task(), key)) continue;  // the launcher admits no other names
    listed.insert(key);
    auto [it, made] = tasks_.try_emplace(key);
    Task& task = it->second;
    if (made || task.state == State::kBodyless) {  // from before this agent was started
      if (!task.note.ParseFromString(state.note())) task.note.Clear();
      if (made) task.desired.set_phase(v1::TASK_PHASE_UNSPECIFIED);
      task.state = State::kStarting;
      task.adopted = true;
    }
    task.in_launcher = true;
    OnTaskState(state, out);
  }
  for (auto& [key, task] : tasks_) {
    if (listed.contains(key)) {
      task.stop_sent = false;
      if (task.desired.phase() == v1::STOP || task.state == State::kExited) Step(key, task, out);
      continue;
    }
    task.in_launcher = false;
    if (task.state == State::kStarting) {
      if (task.desired.phase() == v1::STOP) {
        task.state = State::kReady;
        Step(key, task, out);
      } else {
        Start(key, task, out);
      }
    } else if (task.state == State::kRunning) {
      v1::TaskState lost;
      lost.set_status_lost(true);
      Ended(key, task, lost, out);
    }
  }
  std::erase_if(tasks_, [](const auto& entry) { return entry.second.gone; });
  if (connected_ && !registered_) Register(now_ns, out);
  return out;
}

Session::Out Session::OnLauncherReply(const v1::LauncherReply& reply, int64_t now_ns) {
  Out out;
  now_ns_ = now_ns;
  if (reply.id() != 0) {
    auto it = asked_.find(reply.id());
    if (it == asked_.end()) return out;
    const Key key = it->second;
    asked_.erase(it);
    auto task = tasks_.find(key);
    if (!reply.error().empty() && task != tasks_.end() && task->second.state == State::kStarting) {
      Refuse(key, task->second, reply.error(), out);
    }
  }
  for (const v1::TaskState& state : reply.tasks()) OnTaskState(state, out);
  std::erase_if(tasks_, [](const auto& entry) { return entry.second.gone; });
  return out;
}

void Session::OnTaskState(const v1::TaskState& state, Out& out) {
  Key key;
  if (!ParseName(state.task(), key)) return;
  auto it = tasks_.find(key);
  if (it == tasks_.end()) return;
  Task& task = it->second;
  task.in_launcher = true;
  if (!state.start_error().empty()) {
    if (task.state != State::kExited) Refuse(key, task, state.start_error(), out);
    return;
  }
  if (task.state == State::kStarting) {
    task.state = State::kRunning;
    task.started_boot_ns = state.started_boot_ns();
    if (!task.note.body().rendezvous()) {
      v1::TaskReport report;
      report.mutable_started()->set_pid(state.pid());
      Report(key, std::move(report), out);
    }
    if (state.running() && task.desired.phase() != v1::TASK_PHASE_UNSPECIFIED) Step(key, task, out);
  }
  if (!state.running()) Ended(key, task, state, out);
}

// --- tasks and time ------------------------------------------------------------------------------------------------

Session::Out Session::OnValues(const Key& key, const std::map<std::string, std::string>& values) {
  Out out;
  auto it = tasks_.find(key);
  if (it == tasks_.end() || it->second.state == State::kExited || !it->second.note.body().rendezvous()) return out;
  Task& task = it->second;
  if (task.has_values && task.values == values) {
    // The task did not hear the answer: it connected again before its peers came.
    task.told_peers = false;
  } else {
    task.has_values = true;
    task.values = values;
    v1::TaskReport report;
    for (const auto& [name, value] : values) (*report.mutable_ready()->mutable_values())[name] = value;
    report.mutable_ready()->set_free_port(task.note.free_port());
    Report(key, std::move(report), out);
  }
  if (task.state == State::kStarting) task.state = State::kRunning;  // it speaks before the launcher's answer came
  if (task.desired.phase() == v1::GO) Step(key, task, out);
  return out;
}

Session::Out Session::OnProgress(const Key& key, const v1::Progress& progress) {
  Out out;
  if (!welcome_ || HasEnded(key)) return out;
  if (Task& task = tasks_[key]; task.adopted && !task.told_peers && task.desired.phase() == v1::GO) {
    // It met its peers before this agent was started, and whether the daemon heard of that is not known.
    task.told_peers = true;
    v1::TaskReport started;
    started.mutable_started();
    Report(key, std::move(started), out);
  }
  v1::ProgressReport& report = *out.send.emplace_back().mutable_progress();
  *report.mutable_key() = ToWire(key);
  *report.mutable_progress() = progress;
  return out;
}

Session::Out Session::OnTick(int64_t now_ns) {
  Out out;
  now_ns_ = now_ns;
  if (!welcome_) return out;
  if (now_ns - last_heartbeat_ns_ >= heartbeat_ns_) {
    last_heartbeat_ns_ = now_ns;
    out.send.emplace_back().mutable_heartbeat()->set_revision(revision_);
  }
  if (now_ns - last_repeat_ns_ < kRepeatNs) return out;
  last_repeat_ns_ = now_ns;
  SendReports(out);
  v1::AgentMessage fetch;
  for (const auto& [key, task] : tasks_) {
    if (task.state == State::kBodyless) *fetch.mutable_fetch()->add_keys() = ToWire(key);
  }
  if (fetch.has_fetch()) out.send.push_back(std::move(fetch));
  return out;
}

}  // namespace sinew::agent
