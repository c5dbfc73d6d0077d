// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/launcher/shim_child.h"
#include "agent/launcher/shim_syscall.h"
#include "agent/launcher/shim_tree.h"

namespace sinew::launcher {
namespace {

std::int64_t BootNs() {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

[[noreturn]] void Die(const char* what) {
  dprintf(STDERR_FILENO, "sinew-shim: %s: %s\n", what, strerrordesc_np(errno));
  _exit(1);
}

// A child that has become the user must not be a way for the user into our memory. The kernel sees to that by making
// memory "not dumpable" at the change of user, unless it was told to dump all the same.
bool MayShareMemory(const ShimTask& task) {
  if (!SINEW_SHARED_FORK) return false;
  if (!(task.flags & kSetIds)) return true;
  char text[16];
  return ReadSmall("/proc/sys/fs/suid_dumpable", text, sizeof(text)) > 0 && text[0] != '1';
}

TaskView MapTask() {
  struct stat info;
  if (fstat(kLockFd, &info) != 0 || info.st_size < kStartOffset + 8) Die("no task");
  void* memory = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, kLockFd, 0);
  if (memory == MAP_FAILED) Die("map the task");
  const char* file = static_cast<const char*>(memory);
  const std::uint64_t start_size = *reinterpret_cast<const std::uint64_t*>(file + kStartOffset);
  if (start_size > static_cast<std::uint64_t>(info.st_size) ||
      ShimTaskOffset(start_size) + static_cast<long>(sizeof(ShimTask)) > info.st_size)
    Die("half a task");
  TaskView view = {};
  view.task = reinterpret_cast<const ShimTask*>(file + ShimTaskOffset(start_size));
  const ShimTask& task = *view.task;
  if (task.magic != kTaskMagic) Die("a task of another version");
  view.groups = reinterpret_cast<const unsigned*>(&task + 1);
  view.cpus = view.groups + task.n_groups;
  char* text = const_cast<char*>(reinterpret_cast<const char*>(view.cpus + task.n_cpus));
  auto next = [&text] {
    char* word = text;
    text += strlen(text) + 1;
    return word;
  };
  view.workdir = next();
  view.stdout_path = next();
  view.stderr_path = next();
  view.cgroup_v2 = next();
  view.cgroup_v1 = next();
  auto list = [&next](unsigned count) {
    char** words = static_cast<char**>(calloc(count + 1, sizeof(char*)));
    if (words == nullptr) Die("allocate");
    for (unsigned i = 0; i < count; ++i) words[i] = next();
    return words;
  };
  view.argv = list(task.n_args);
  view.env = list(task.n_env);
  return view;
}

// What a child that shares our memory is started with.
struct Child {
  const TaskView* view;
  int shim_pid;
  int error_fd;
};

alignas(16) char child_stack[64 << 10];

void RunChild(void* data) {
  const Child* child = static_cast<const Child*>(data);
  BecomeTask(*child->view, child->shim_pid, false, child->error_fd);
}

// Starts the child, right into the cgroup where the kernel can: moving a process later makes every fork of the machine
// wait. Where it may, the child shares our memory until it executes the task, as with vfork, but we go on: a file
// system that hangs it does not hang us. To copy the memory and take it down again costs as much as all else here.
int Fork(const TaskView& view, const Child& child) {
  clone_args args = {};
  args.exit_signal = SIGCHLD;
  const bool grouped = view.cgroup_v2[0] != '\0';
  const int folder = grouped ? open(view.cgroup_v2, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  if (folder >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(folder);
  }
  if (MayShareMemory(*view.task) && (folder >= 0 || !grouped)) {
    clone_args shared = args;
    shared.flags |= CLONE_VM;
    shared.stack = reinterpret_cast<std::uint64_t>(child_stack);
    shared.stack_size = sizeof(child_stack);
    static Child kept;  // outlives this call
    kept = child;
    const long pid = RawClone(&shared, RunChild, &kept);
    if (pid > 0) {
      if (folder >= 0) close(folder);
      return static_cast<int>(pid);
    }
  }
  long pid = folder >= 0 ? syscall(SYS_clone3, &args, sizeof(args)) : -1;
  const bool join = grouped && pid < 0;
  if (pid < 0) pid = fork();
  if (pid == 0) BecomeTask(view, child.shim_pid, join, child.error_fd);
  if (folder >= 0) close(folder);
  return static_cast<int>(pid);
}

class Shim {
 public:
  Shim() : view_(MapTask()) {
    report_.magic = kReportMagic;
    report_.serial = view_.task->serial;
  }

  void Run() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const ShimRecord record = {kRecordMagic, getpid(), 0, 0};
    Record(record);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGRTMIN);
    signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    int ends[2];
    if (signal_fd_ < 0 || pipe2(ends, O_CLOEXEC) != 0) Die("make descriptors");
    const int self = getpid();
    report_.started_boot_ns = BootNs();
    const int pid = Fork(view_, {&view_, self, ends[1]});
    if (pid < 0) {
      snprintf(report_.error, sizeof(report_.error), "fork: %s", strerrordesc_np(errno));
      report_.kind = kNeverStarted;
    } else {
      close(ends[1]);
      exec_fd_ = ends[0];
      report_.pid = pid;
      Watch();
    }
    Finish();
  }

 private:
  // The file was given its size when it was made, so that a full disk does not matter here.
  void Record(const ShimRecord& record) {
    if (pwrite(kLockFd, &record, sizeof(record), kRecordOffset) != sizeof(record)) Die("write the task file");
  }

  // True while there are children: what loses its parent becomes ours, so none means that nothing is left.
  bool Reap() {
    for (;;) {
      int status;
      rusage used;
      const int pid = wait4(-1, &status, WNOHANG, &used);
      if (pid == 0) return true;
      if (pid < 0) return errno != ECHILD;
      report_.cpu_ns += (std::int64_t{used.ru_utime.tv_sec} + used.ru_stime.tv_sec) * 1'000'000'000 +
                        (std::int64_t{used.ru_utime.tv_usec} + used.ru_stime.tv_usec) * 1000;
      if (used.ru_maxrss * 1024 > report_.peak_memory_bytes) report_.peak_memory_bytes = used.ru_maxrss * 1024;
      if (pid != report_.pid) continue;
      main_gone_ = true;
      report_.ended_boot_ns = BootNs();
      if (WIFSIGNALED(status)) report_.signal = WTERMSIG(status);
      else report_.exit_code = WEXITSTATUS(status);
    }
  }

  // The pipe of the child: text is why it could not execute the task; its end says that it did.
  void ReadExec() {
    const long n = read(exec_fd_, report_.error, sizeof(report_.error) - 1);
    if (n < 0 && errno == EINTR) return;
    close(exec_fd_);
    exec_fd_ = -1;
    if (n > 0) {
      report_.kind = kNeverStarted;
      return;
    }
    report_.kind = kStarted;
    const ShimRecord record = {kRecordMagic, getpid(), report_.pid, report_.started_boot_ns};
    Record(record);
    if (!main_gone_) Report();
  }

  void Watch() {
    for (;;) {
      const bool children = Reap();
      if (main_gone_ && exec_fd_ >= 0) ReadExec();
      if (!children) return;
      const std::int64_t now = BootNs();
      // Without a stop under way the end of the main process is the end of all; with one, the others get their grace.
      if (stopping_ ? now >= deadline_ : main_gone_) killing_ = true;
      if (killing_) SignalTree(SIGKILL, view_.cgroup_v2);
      pollfd fds[2] = {{signal_fd_, POLLIN, 0}, {exec_fd_, POLLIN, 0}};
      std::int64_t wait_ms = -1;
      if (killing_) wait_ms = 100;  // one that forks faster than it is found meets the next look
      else if (stopping_) wait_ms = (deadline_ - now) / 1'000'000 + 1;
      if (wait_ms > 1'000'000'000) wait_ms = 1'000'000'000;
      if (poll(fds, exec_fd_ >= 0 ? 2 : 1, static_cast<int>(wait_ms)) <= 0) continue;
      if (exec_fd_ >= 0 && fds[1].revents != 0) ReadExec();
      if (fds[0].revents != 0) ReadSignals();
    }
  }

  void ReadSignals() {
    signalfd_siginfo info;
    while (read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
      if (static_cast<int>(info.ssi_signo) != SIGRTMIN) continue;
      const std::int64_t value = static_cast<std::int64_t>(info.ssi_ptr);
      const std::int64_t until = BootNs() + (value >> 8) * 1'000'000;
      if (!stopping_ || until < deadline_) deadline_ = until;
      stopping_ = true;
      const int signal = static_cast<int>(value & 0xff);
      if ((value >> 8) > 0) SignalTree(signal, view_.cgroup_v2);
    }
  }

  void Report() {
    if (write(kReportFd, &report_, sizeof(report_)) < 0) return;  // no launcher: it will read the file
  }

  void Finish() {
    if (report_.kind != kNeverStarted) report_.kind = kEnded;
    if (report_.ended_boot_ns == 0) report_.ended_boot_ns = BootNs();
    // The magic number last: with it, the report is whole. Not synced: a power cut ends the node's tasks anyway, and
    // whoever was killed does not take the kernel's cache along.
    constexpr size_t kHead = sizeof(report_.magic);
    const char* bytes = reinterpret_cast<const char*>(&report_);
    constexpr long kRest = sizeof(report_) - kHead;
    if (pwrite(kLockFd, bytes + kHead, kRest, kStatusOffset + kHead) != kRest ||
        pwrite(kLockFd, bytes, kHead, kStatusOffset) != static_cast<long>(kHead)) {
      dprintf(STDERR_FILENO, "sinew-shim: write the task file: %s\n", strerrordesc_np(errno));
    }
    if (view_.cgroup_v1[0] != '\0') rmdir(view_.cgroup_v1);
    if (view_.cgroup_v2[0] != '\0') rmdir(view_.cgroup_v2);
    Report();
  }

  const TaskView view_;
  ShimReport report_ = {};
  int signal_fd_ = -1;
  int exec_fd_ = -1;
  bool main_gone_ = false;
  bool stopping_ = false;
  bool killing_ = false;
  std::int64_t deadline_ = 0;
};

}  // namespace

void RunShim() {
  Shim shim;
  shim.Run();
}

}  // namespace sinew::launcher
