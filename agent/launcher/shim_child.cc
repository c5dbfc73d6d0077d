// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/shim_child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/launcher/shim_tree.h"

namespace sinew::launcher {
namespace {

[[noreturn]] void Fail(int error_fd, const char* what, const char* path, int error) {
  char text[sizeof(ShimReport::error)];
  snprintf(text, sizeof(text), "%s %.900s: %s", what, path, strerrordesc_np(error));
  if (write(error_fd, text, strlen(text)) < 0) _exit(126);
  _exit(127);
}

// Opened as the user, with the user's rights. Not blocking: a FIFO without a reader is an error, not a wait.
int OpenOutput(const char* path, int error_fd) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666);
  if (fd < 0) Fail(error_fd, "output", path, errno);
  fcntl(fd, F_SETFL, O_WRONLY | O_APPEND);
  return fd;
}

void Join(const char* folder) {
  char path[4200];
  snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
  WriteSmall(path, "0");
}

[[noreturn]] void Execute(const TaskView& view, int error_fd) {
  const char* name = view.argv[0];
  if (strchr(name, '/') != nullptr) {
    execve(name, view.argv, view.env);
    Fail(error_fd, "exec", name, errno);
  }
  const char* path = "/usr/local/bin:/usr/bin:/bin";
  for (char** e = view.env; *e != nullptr; ++e)
    if (strncmp(*e, "PATH=", 5) == 0) path = *e + 5;
  int error = ENOENT;
  for (;;) {
    const char* end = strchrnul(path, ':');
    char file[4200];
    const int length = static_cast<int>(end - path);
    snprintf(file, sizeof(file), "%.*s%s%.2000s", length, path, length > 0 ? "/" : "./", name);
    execve(file, view.argv, view.env);
    // One that may not be executed does not hide a later one, but is what is told when there is none.
    if (errno != ENOENT && errno != ENOTDIR) {
      if (errno != EACCES) Fail(error_fd, "exec", file, errno);
      error = EACCES;
    }
    if (*end == '\0') break;
    path = end + 1;
  }
  Fail(error_fd, "exec", name, error);
}

}  // namespace

void BecomeTask(const TaskView& view, int shim_pid, bool join_v2, int error_fd) {
  const ShimTask& task = *view.task;
  setsid();
  if (join_v2) Join(view.cgroup_v2);
  if (view.cgroup_v1[0] != '\0') Join(view.cgroup_v1);
  if (task.flags & kResetOomScore) WriteSmall("/proc/self/oom_score_adj", "0");
  if (task.n_cpus > 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned i = 0; i < task.n_cpus; ++i) CPU_SET(view.cpus[i], &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) Fail(error_fd, "bind to", "cpus", errno);
  }
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (task.flags & kSetIds) {
    if (setgroups(task.n_groups, view.groups) != 0 || setresgid(task.gid, task.gid, task.gid) != 0 ||
        setresuid(task.uid, task.uid, task.uid) != 0)
      Fail(error_fd, "become", "the user", errno);
    if (getuid() != task.uid || geteuid() != task.uid || getegid() != task.gid)
      Fail(error_fd, "become", "the user", EPERM);
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Fail(error_fd, "set", "no_new_privs", errno);
  // After the change of user, which clears it. Without a shim nobody would see how the task ends.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != shim_pid) _exit(126);
  umask(022);
  int out = STDOUT_FILENO;
  if (view.stdout_path[0] != '\0') dup2(out = OpenOutput(view.stdout_path, error_fd), STDOUT_FILENO);
  if (view.stderr_path[0] != '\0') {
    if (strcmp(view.stderr_path, view.stdout_path) != 0) out = OpenOutput(view.stderr_path, error_fd);
    dup2(out, STDERR_FILENO);
  }
  if (chdir(view.workdir) != 0) Fail(error_fd, "workdir", view.workdir, errno);
  // The launcher's handlers were reset when the shim was spawned, but for the two that are glibc's own.
  const unsigned long by_default[4] = {};
  for (int internal = 32; internal <= 33; ++internal) syscall(SYS_rt_sigaction, internal, by_default, nullptr, 8);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  Execute(view, error_fd);
}

}  // namespace sinew::launcher
