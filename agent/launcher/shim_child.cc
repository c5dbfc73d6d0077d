// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/shim_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/launcher/shim_syscall.h"

namespace sinew::launcher {
namespace {

[[noreturn]] void Exit(int status) {
  for (;;) Raw(SYS_exit_group, status);
}

[[noreturn]] void Fail(int error_fd, const char* what, const char* path, long error) {
  char text[sizeof(ShimReport::error)];
  const int length = snprintf(text, sizeof(text), "%s %.900s: %s", what, path, strerrordesc_np(static_cast<int>(-error)));
  Exit(Raw(SYS_write, error_fd, Word(text), length) < 0 ? 126 : 127);
}

void Must(long result, int error_fd, const char* what, const char* path) {
  if (result < 0) Fail(error_fd, what, path, result);
}

// Opened as the user, with the user's rights. Not blocking: a FIFO without a reader is an error, not a wait.
void OpenOutput(const char* path, int target, int error_fd) {
  const long fd = Raw(SYS_openat, AT_FDCWD, Word(path),
                      O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666);
  Must(fd, error_fd, "output", path);
  Raw(SYS_fcntl, fd, F_SETFL, O_WRONLY | O_APPEND);
  Raw(SYS_dup3, fd, target, 0);
}

bool Put(const char* path, const char* text) {
  const long fd = Raw(SYS_openat, AT_FDCWD, Word(path), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const long length = static_cast<long>(strlen(text));
  const long written = Raw(SYS_write, fd, Word(text), length);
  Raw(SYS_close, fd);
  return written == length;
}

void Join(const char* folder) {
  char path[4200];
  snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
  Put(path, "0");
}

[[noreturn]] void Execute(const TaskView& view, int error_fd) {
  const char* name = view.argv[0];
  if (strchr(name, '/') != nullptr)
    Fail(error_fd, "exec", name, Raw(SYS_execve, Word(name), Word(view.argv), Word(view.env)));
  const char* path = "/usr/local/bin:/usr/bin:/bin";
  for (char** e = view.env; *e != nullptr; ++e)
    if (strncmp(*e, "PATH=", 5) == 0) path = *e + 5;
  long error = -ENOENT;
  const size_t name_length = strlen(name);
  for (;;) {
    const char* end = strchrnul(path, ':');
    const size_t length = static_cast<size_t>(end - path);
    char file[PATH_MAX];
    if (length + name_length + 3 <= sizeof(file)) {
      // Not snprintf, which touches many pages that are nobody else's here.
      char* at = static_cast<char*>(mempcpy(file, path, length));
      if (length == 0) *at++ = '.';
      *at++ = '/';
      memcpy(at, name, name_length + 1);
      const long result = Raw(SYS_execve, Word(file), Word(view.argv), Word(view.env));
      // One that may not be executed does not hide a later one, but is what is told when there is none.
      if (result != -ENOENT && result != -ENOTDIR) {
        if (result != -EACCES) Fail(error_fd, "exec", file, result);
        error = -EACCES;
      }
    }
    if (*end == '\0') break;
    path = end + 1;
  }
  Fail(error_fd, "exec", name, error);
}

}  // namespace

void BecomeTask(const TaskView& view, int shim_pid, bool join_v2, int error_fd) {
  const ShimTask& task = *view.task;
  Raw(SYS_setsid);
  if (join_v2) Join(view.cgroup_v2);
  if (view.cgroup_v1[0] != '\0') Join(view.cgroup_v1);
  if (task.flags & kResetOomScore) Put("/proc/self/oom_score_adj", "0");
  if (task.n_cpus > 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned i = 0; i < task.n_cpus; ++i) CPU_SET(view.cpus[i], &set);
    Must(Raw(SYS_sched_setaffinity, 0, sizeof(set), Word(&set)), error_fd, "bind to", "cpus");
  }
  const rlimit no_core = {0, 0};
  Raw(SYS_prlimit64, 0, RLIMIT_CORE, Word(&no_core), 0);
  if (task.flags & kSetIds) {
    Must(Raw(SYS_setgroups, task.n_groups, Word(view.groups)), error_fd, "become", "the user");
    Must(Raw(SYS_setresgid, task.gid, task.gid, task.gid), error_fd, "become", "the user");
    Must(Raw(SYS_setresuid, task.uid, task.uid, task.uid), error_fd, "become", "the user");
    if (Raw(SYS_getuid) != task.uid || Raw(SYS_geteuid) != task.uid || Raw(SYS_getegid) != task.gid)
      Fail(error_fd, "become", "the user", -EPERM);
  }
  Must(Raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1), error_fd, "set", "no_new_privs");
  // After the change of user, which clears it. Without a shim nobody would see how the task ends.
  Raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (Raw(SYS_getppid) != shim_pid) Exit(126);
  Raw(SYS_umask, 022);
  if (view.stdout_path[0] != '\0') OpenOutput(view.stdout_path, STDOUT_FILENO, error_fd);
  if (view.stderr_path[0] != '\0') {
    if (strcmp(view.stderr_path, view.stdout_path) == 0) Raw(SYS_dup3, STDOUT_FILENO, STDERR_FILENO, 0);
    else OpenOutput(view.stderr_path, STDERR_FILENO, error_fd);
  }
  Must(Raw(SYS_chdir, Word(view.workdir)), error_fd, "workdir", view.workdir);
  // The launcher's handlers were reset when the fork server was spawned, but for the two that are glibc's own.
  const unsigned long by_default[4] = {};
  for (int internal = 32; internal <= 33; ++internal) Raw(SYS_rt_sigaction, internal, Word(by_default), 0, 8);
  const unsigned long none = 0;
  Raw(SYS_rt_sigprocmask, SIG_SETMASK, Word(&none), 0, 8);
  Execute(view, error_fd);
}

}  // namespace sinew::launcher
