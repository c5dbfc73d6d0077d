// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/tasks.h"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/launcher/leftovers.h"
#include "agent/launcher/task_image.h"
#include "base/clock.h"
#include "base/errno_status.h"
#include "base/files.h"
#include "base/process.h"
#include "base/status_macros.h"

namespace sinew::launcher {
namespace {

// How long the remains of a lost task are looked for before it is told as lost all the same: 30 s.
constexpr int kMaxRounds = 1500;
constexpr std::int64_t kRoundMs = 20;

// Of the fork server, which may be killed at any time, for one task.
constexpr int kMaxAsks = 20;

bool IsShielded() {
  const auto score = ReadFile("/proc/self/oom_score_adj", 64);
  return score.ok() && !score->empty() && (*score)[0] == '-';
}

}  // namespace

Tasks::Tasks(Options options, Spool spool, Cgroups cgroups, EventLoop& loop, Listener listener)
    : options_(std::move(options)),
      spool_(std::move(spool)),
      cgroups_(std::move(cgroups)),
      loop_(loop),
      listener_(std::move(listener)),
      shims_(options_.shim, spool_.File(std::string(kMaxTaskName, '0')).size(), loop_,
             [this](const ForkReply& reply) { OnForked(reply); }) {}

absl::Status Tasks::Open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus("make", "a pipe");
  report_read_.reset(ends[0]);
  report_write_.reset(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // the shims' end waits: a report is never dropped
  ::fcntl(ends[0], F_SETPIPE_SZ, 1 << 20);
  null_.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null_.valid()) return ErrnoStatus("open", "/dev/null");
  shims_.SetDescriptors(null_.get(), report_write_.get());
  RETURN_IF_ERROR(loop_.Add(report_read_.get(), EPOLLIN, [this](std::uint32_t) { OnReports(); }));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, spool_.Tasks());
  for (const std::string& name : names) TakeUp(name, 0);
  return absl::OkStatus();
}

void Tasks::TakeUp(const std::string& name, int tries) {
  v1::StartTask start;
  ShimRecord record;
  const auto text = spool_.ReadTask(name);
  const Spool::Shim shim = spool_.Probe(name, &record);
  const auto status = spool_.ReadStatus(name);
  // Without a record the shim had not begun, so nothing of the task ever ran.
  const bool begun = record.magic != 0 || status.has_value();
  const bool whole = text.ok() && start.ParseFromString(*text) && shim != Spool::Shim::kNone;
  if (tries == 0 && (!whole || (shim == Spool::Shim::kGone && !begun))) {
    spdlog::warn("task={} was never started: forgotten", name);
    RemoveGroup(cgroups_.Find(spool_.TaskId(name)));
    spool_.Remove(name);
    return;
  }
  Task& task = tasks_[name];
  if (tries == 0) {
    task.state.set_task(name);
    task.state.set_running(true);
    task.note = start.note();
    task.adopted = true;
    task.group = cgroups_.Find(spool_.TaskId(name));
    ++running_;
  }
  task.state.set_pid(record.main_pid);
  task.state.set_started_boot_ns(record.started_boot_ns);
  if (shim == Spool::Shim::kGone) {
    if (status.has_value()) Finish(task, *status);
    else EndLost(name, 0, 0);
    return;
  }
  if (record.magic != 0) {
    task.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, record.shim_pid, 0)));
    // The lock held after the descriptor was made says that it is the shim's, and not that of a later process.
    if (task.pidfd.valid() && spool_.Probe(name, &record) == Spool::Shim::kAlive && Watch(task).ok()) {
      if (record.main_pid == 0) FindMainPid(name);
      return;
    }
    task.pidfd.reset();
  }
  // It begins or ends just now.
  loop_.After(5, [this, name, tries] {
    if (tasks_.count(name) > 0) TakeUp(name, tries + 1);
  });
}

void Tasks::FindMainPid(const std::string& name) {
  loop_.After(20, [this, name] {
    const auto it = tasks_.find(name);
    ShimRecord record;
    if (it == tasks_.end() || !it->second.state.running() || it->second.state.pid() != 0) return;
    if (spool_.Probe(name, &record) != Spool::Shim::kAlive) return;
    if (record.main_pid == 0) return FindMainPid(name);
    it->second.state.set_pid(record.main_pid);
    it->second.state.set_started_boot_ns(record.started_boot_ns);
    listener_(it->second.state, 0);
  });
}

void Tasks::Start(const v1::StartTask& start, std::uint64_t asker, Answer answer) {
  const auto user = CheckStart(start, options_.rules, users_);
  if (!user.ok()) return answer(user.status());
  if (const auto it = tasks_.find(start.task()); it != tasks_.end()) return answer(it->second.state);
  Task& task = tasks_[start.task()];
  task.state.set_task(start.task());
  task.state.set_running(true);
  task.note = start.note();
  task.serial = ++last_serial_;
  task.asker = asker;
  task.answer = std::move(answer);
  ++running_;
  by_serial_[task.serial] = start.task();
  if (const absl::Status status = Launch(task, start, *user); !status.ok()) CannotStart(start.task(), status);
}

void Tasks::CannotStart(const std::string& name, const absl::Status& status) {
  spdlog::error("task={} cannot be started: {}", name, std::string(status.message()));
  Task& task = tasks_.at(name);
  RemoveGroup(task.group);
  spool_.Remove(name);
  --running_;
  by_serial_.erase(task.serial);
  const Answer tell = std::move(task.answer);
  tasks_.erase(name);
  if (tell) tell(status);
}

absl::Status Tasks::Launch(Task& task, const v1::StartTask& start, const User& user) {
  const std::string& name = start.task();
  const std::string id = spool_.TaskId(name);
  std::string text;
  start.SerializeToString(&text);
  ASSIGN_OR_RETURN(const UniqueFd file, spool_.Create(name, text));
  Spool::Logs logs;
  if (start.stdout_path().empty() || start.stderr_path().empty()) {
    ASSIGN_OR_RETURN(logs, spool_.OpenLogs(name, options_.set_ids ? start.uid() : static_cast<uid_t>(-1),
                                           options_.log_group));
  }
  task.group = cgroups_.Make(id, start.memory_bytes());
  static const bool shielded = IsShielded();
  const std::uint32_t flags = (options_.set_ids ? kSetIds : 0u) | (shielded ? kResetOomScore : 0u);
  RETURN_IF_ERROR(
      Spool::AddShimTask(file.get(), text.size(), MakeTaskImage(start, user, task.group, id, task.serial, flags)));
  task.asked = true;
  ++task.asks;
  return shims_.Ask(task.serial, spool_.File(name),
                    {file.get(), start.stdout_path().empty() ? logs.out.get() : null_.get(),
                     start.stderr_path().empty() ? logs.err.get() : null_.get()});
}

void Tasks::OnForked(const ForkReply& reply) {
  if (reply.pid == -1) {
    std::vector<std::string> unknown;
    for (const auto& [name, task] : tasks_)
      if (task.asked) unknown.push_back(name);
    for (const std::string& name : unknown) AskAgain(name);
    return;
  }
  const auto it = by_serial_.find(reply.serial);
  if (it == by_serial_.end()) return;
  const std::string name = it->second;
  Task& task = tasks_.at(name);
  task.asked = false;
  absl::Status status = reply.pid > 0 ? absl::OkStatus() : ErrnoStatus("fork a shim for", name, reply.error);
  if (status.ok()) {
    // Our child, and not reaped yet, so its number still means it.
    task.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, reply.pid, 0)));
    status = task.pidfd.valid() ? Watch(task) : ErrnoStatus("watch the shim of", name);
    if (!status.ok()) {  // nobody would see how the task ends: it goes with its shim
      task.pidfd.reset();
      ::kill(reply.pid, SIGKILL);
      ::waitpid(reply.pid, nullptr, 0);
    }
  }
  if (!status.ok()) CannotStart(name, status);
}

void Tasks::AskAgain(const std::string& name) {
  Task& task = tasks_.at(name);
  task.asked = false;
  ShimRecord record;
  // The lock of its file tells, as of those of a launcher before this one: a shim records itself before it forks.
  if (spool_.Probe(name, &record) != Spool::Shim::kGone || record.magic != 0) {
    task.adopted = true;
    return TakeUp(name, 1);
  }
  const auto text = spool_.ReadTask(name);
  v1::StartTask start;
  if (task.asks >= kMaxAsks)
    return CannotStart(name, absl::UnavailableError("the fork server, sinew-shim, ended each time"));
  if (!text.ok() || !start.ParseFromString(*text)) return CannotStart(name, absl::DataLossError("its file was damaged"));
  const auto user = CheckStart(start, options_.rules, users_);
  RemoveGroup(task.group);
  spool_.Remove(name);
  const absl::Status status = user.ok() ? Launch(task, start, *user) : user.status();
  if (!status.ok()) CannotStart(name, status);
}

absl::Status Tasks::Watch(Task& task) {
  return loop_.Add(task.pidfd.get(), EPOLLIN, [this, name = task.state.task()](std::uint32_t) { OnShimGone(name); });
}

void Tasks::OnReports() {
  char buffer[16 * sizeof(ShimReport)];
  ssize_t n;
  while ((n = ::read(report_read_.get(), buffer, sizeof(buffer))) > 0) {
    partial_.append(buffer, static_cast<std::size_t>(n));
    std::size_t at = 0;
    for (; partial_.size() - at >= sizeof(ShimReport); at += sizeof(ShimReport)) {
      ShimReport report;
      std::memcpy(&report, partial_.data() + at, sizeof(report));
      report.error[sizeof(report.error) - 1] = '\0';
      const auto it = by_serial_.find(report.serial);
      if (report.magic != kReportMagic || it == by_serial_.end()) continue;
      Task& task = tasks_.at(it->second);
      if (report.kind != kStarted) {
        task.report = report;  // told once the shim is gone, and with it all of the task
        continue;
      }
      task.state.set_pid(report.pid);
      task.state.set_started_boot_ns(report.started_boot_ns);
      Tell(task);
    }
    partial_.erase(0, at);
  }
}

void Tasks::OnShimGone(const std::string& name) {
  OnReports();  // what it said before it went
  Task& task = tasks_.at(name);
  loop_.Remove(task.pidfd.get());
  siginfo_t info = {};
  ::waitid(P_PIDFD, static_cast<id_t>(task.pidfd.get()), &info, WEXITED | WNOHANG);  // not of adopted ones: no child
  task.pidfd.reset();
  if (task.report.magic == 0) {
    if (const auto status = spool_.ReadStatus(name); status.has_value()) task.report = *status;
  }
  if (task.report.magic != 0) return Finish(task, task.report);
  spdlog::error("task={} the shim was killed: the status of the task is lost, and what is left of it is ended", name);
  pid_t session = static_cast<pid_t>(task.state.pid());
  ShimRecord record;
  if (session == 0 && spool_.Probe(name, &record) != Spool::Shim::kNone) session = static_cast<pid_t>(record.main_pid);
  EndLost(name, session, 0);
}

void Tasks::EndLost(const std::string& name, pid_t session, int rounds) {
  Task& task = tasks_.at(name);
  const int left = KillGroup(task.group) + KillLeftovers(spool_.TaskId(name), session);
  // One look that finds nobody is enough: who was killed in the last one was gone before it.
  if (left > 0 && rounds < kMaxRounds) {
    loop_.After(kRoundMs, [this, name, session, rounds] { EndLost(name, session, rounds + 1); });
    return;
  }
  if (left > 0) spdlog::error("task={} {} processes do not die", name, left);
  RemoveGroup(task.group);
  ShimReport report = {};
  report.magic = kReportMagic;
  report.kind = kStatusLost;
  report.pid = task.state.pid();
  report.started_boot_ns = task.state.started_boot_ns();
  report.ended_boot_ns = BootNs();
  if (const absl::Status status = spool_.WriteStatus(name, report); !status.ok())
    spdlog::error("task={} {}", name, std::string(status.message()));
  Finish(task, report);
}

void Tasks::Finish(Task& task, const ShimReport& report) {
  v1::TaskState& state = task.state;
  state.set_running(false);
  state.set_pid(report.pid);
  state.set_exit_code(report.exit_code);
  state.set_signal(report.signal);
  state.set_status_lost(report.kind == kStatusLost);
  if (report.kind == kNeverStarted) state.set_start_error(report.error);
  state.set_started_boot_ns(report.started_boot_ns);
  state.set_ended_boot_ns(report.ended_boot_ns);
  state.set_cpu_ns(report.cpu_ns);
  state.set_peak_memory_bytes(report.peak_memory_bytes);
  --running_;
  by_serial_.erase(task.serial);
  spdlog::debug("task={} ended exit={} signal={}", state.task(), report.exit_code, report.signal);
  if (task.answer) {
    const Answer answer = std::move(task.answer);
    task.answer = nullptr;
    answer(state);
  }
  listener_(state, 0);
}

void Tasks::Tell(Task& task) {
  listener_(task.state, task.asker);
  if (!task.answer) return;
  const Answer answer = std::move(task.answer);
  task.answer = nullptr;
  answer(task.state);
}

absl::StatusOr<v1::TaskState> Tasks::Stop(const v1::StopTask& stop) {
  RETURN_IF_ERROR(CheckStop(stop));
  const auto it = tasks_.find(stop.task());
  if (it == tasks_.end()) return absl::NotFoundError("no task " + stop.task());
  Task& task = it->second;
  if (!task.pidfd.valid()) {
    // Ended, being ended, or its shim just begins.
    if (task.state.running() && (task.adopted || task.asked))
      loop_.After(10, [this, stop] { Stop(stop).status().IgnoreError(); });
    return task.state;
  }
  const std::int64_t grace_ms = (stop.grace_ns() + 999'999) / 1'000'000;
  siginfo_t info = {};
  info.si_signo = SIGRTMIN;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_ptr =
      reinterpret_cast<void*>(grace_ms << 8 | (stop.signal() == 0 ? SIGTERM : stop.signal()));
  if (::syscall(SYS_pidfd_send_signal, task.pidfd.get(), SIGRTMIN, &info, 0) != 0 && errno != ESRCH)
    return ErrnoStatus("signal the shim of", stop.task());
  return task.state;
}

absl::Status Tasks::Forget(const std::string& name) {
  if (!IsTaskName(name)) return absl::InvalidArgumentError("task must be <job>.<run>.<rank>, three numbers");
  const auto it = tasks_.find(name);
  if (it == tasks_.end()) return absl::OkStatus();
  if (it->second.state.running()) return absl::FailedPreconditionError("task " + name + " still runs: stop it first");
  spool_.Remove(name);
  tasks_.erase(it);
  return absl::OkStatus();
}

std::vector<v1::TaskState> Tasks::List() const {
  std::vector<v1::TaskState> list;
  for (const auto& [name, task] : tasks_) {
    list.push_back(task.state);
    list.back().set_note(task.note);
  }
  return list;
}

}  // namespace sinew::launcher
