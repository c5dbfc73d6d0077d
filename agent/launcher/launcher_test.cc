// SPDX-License-Identifier: Apache-2.0
// A launcher, its shims and tasks as real processes. Run by root they are also run as other users.
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/socket.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>

#include "agent/launcher/packet.h"
#include "agent/launcher/test_launcher.h"
#include "base/unix_socket.h"

namespace sinew::launcher {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

uid_t UidOf(const char* name) { return ::getpwnam(name)->pw_uid; }

TEST(Launcher, RunsAProgramAndTellsHowItEnded) {
  TestLauncher one;
  v1::StartTask task = one.Task("1.1.0", {"sh", "-c", "pwd; echo to-errors >&2; exit 7"});
  const v1::LauncherReply reply = one.Start(task);
  ASSERT_EQ(reply.error(), "");
  ASSERT_EQ(reply.tasks_size(), 1);
  const v1::TaskState state = one.WaitEnd("1.1.0");
  EXPECT_EQ(state.exit_code(), 7);
  EXPECT_EQ(state.signal(), 0);
  EXPECT_FALSE(state.status_lost());
  EXPECT_GT(state.pid(), 0);
  EXPECT_GT(state.started_boot_ns(), 0);
  EXPECT_GE(state.ended_boot_ns(), state.started_boot_ns());
  EXPECT_GT(state.peak_memory_bytes(), 0);
  EXPECT_EQ(one.Output("1.1.0"), one.work() + "\n");
  EXPECT_EQ(one.Output("1.1.0", "err"), "to-errors\n");
}

TEST(Launcher, TellsTheSignalThatEndedIt) {
  TestLauncher one;
  const v1::TaskState state = one.Run(one.Task("1.1.0", {"sh", "-c", "kill -SEGV $$"}));
  EXPECT_EQ(state.signal(), SIGSEGV);
  EXPECT_EQ(state.exit_code(), 0);
}

TEST(Launcher, TellsWhyAProgramCouldNotBeRun) {
  TestLauncher one;
  EXPECT_EQ(one.Run(one.Task("1.1.0", {"/no/such"})).start_error(), "exec /no/such: No such file or directory");
  EXPECT_EQ(one.Run(one.Task("1.1.1", {"no-such"})).start_error(), "exec no-such: No such file or directory");
  EXPECT_EQ(one.Run(one.Task("1.1.2", {"/etc/passwd"})).start_error(), "exec /etc/passwd: Permission denied");
  v1::StartTask elsewhere = one.Task("1.1.3", {"true"});
  elsewhere.set_workdir("/no/such/folder");
  EXPECT_EQ(one.Run(elsewhere).start_error(), "workdir /no/such/folder: No such file or directory");
  v1::StartTask output = one.Task("1.1.4", {"true"});
  output.set_stdout_path("/no/such/file");
  EXPECT_EQ(one.Run(output).start_error(), "output /no/such/file: No such file or directory");
}

TEST(Launcher, ArgumentsAndEnvironmentArriveAsTheyAre) {
  TestLauncher one;
  const std::vector<std::string> words = {"; touch oops", "$(touch oops)", "`touch oops`", "a b", "", "*", "\xc3\xa9\n"};
  std::vector<std::string> argv = {"printf", "<%s>"};
  argv.insert(argv.end(), words.begin(), words.end());
  one.Run(one.Task("1.1.0", argv));
  std::string wanted;
  for (const std::string& word : words) wanted += "<" + word + ">";
  EXPECT_EQ(one.Output("1.1.0"), wanted);
  EXPECT_FALSE(std::filesystem::exists(one.work() + "/oops"));
  one.Run(one.Task("1.1.1", {"env"}));
  const std::string env = one.Output("1.1.1");
  EXPECT_EQ(std::count(env.begin(), env.end(), '\n'), 3) << env;  // PATH, SINEW_TEST and SINEW_TASK_ID
}

TEST(Launcher, ATaskStartsClean) {
  TestLauncher one;
  one.Run(one.Task("1.1.0", {"sh", "-c", "ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)|NoNewPrivs' /proc/self/status"
                             "; ulimit -c"}));
  EXPECT_EQ(one.Output("1.1.0"),
            "4\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nNoNewPrivs:\t1\n0\n");
}

TEST(Launcher, OutputGoesToThePathsAsked) {
  TestLauncher one;
  v1::StartTask task = one.Task("1.1.0", {"sh", "-c", "echo out; echo err >&2"});
  task.set_stdout_path(one.work() + "/both");
  task.set_stderr_path(one.work() + "/both");
  one.Run(task);
  EXPECT_EQ(ReadFile(one.work() + "/both").value_or("?"), "out\nerr\n");
}

TEST(Launcher, AnotherStartOfATaskAnswersWithItsState) {
  TestLauncher one;
  v1::StartTask task = one.Task("1.1.0", {"sh", "-c", "echo started >> trace; exit 3"});
  one.Run(task);
  const v1::LauncherReply again = one.Start(task);
  ASSERT_EQ(again.tasks_size(), 1);
  EXPECT_EQ(again.tasks(0).exit_code(), 3);
  EXPECT_EQ(ReadFile(one.work() + "/trace").value_or(""), "started\n");
  EXPECT_EQ(one.Forget("1.1.0").error(), "");
  EXPECT_EQ(one.List().tasks_size(), 0);
  EXPECT_FALSE(std::filesystem::exists(one.spool() + "/1.1.0"));
  EXPECT_TRUE(std::filesystem::exists(one.List().log_dir() + "/1.1.0.out")) << "logs stay";
}

TEST(Launcher, NothingOfAForgottenTaskIsKeptAndItsFileServesAnother) {
  TestLauncher one;
  v1::StartTask task = one.Task("1.1.0", {"true"});
  task.add_env("SECRET=" + std::string(5000, 's'));
  one.Run(task);
  EXPECT_EQ(one.Forget("1.1.0").error(), "");
  for (const auto& entry : std::filesystem::directory_iterator(one.spool())) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(ReadFile(entry.path()).value_or("?").find("SECRET"), std::string::npos) << entry.path();
  }
  one.Run(one.Task("2.1.0", {"sh", "-c", "exit 4"}));
  one.End(SIGKILL);
  one.StartProcess();  // the second task is read from what was the file of the first
  const v1::LauncherReply list = one.List();
  ASSERT_EQ(list.tasks_size(), 1);
  EXPECT_EQ(list.tasks(0).task(), "2.1.0");
  EXPECT_EQ(list.tasks(0).exit_code(), 4);
}

TEST(Launcher, AnErrorLogIsKeptIfSomethingIsInIt) {
  TestLauncher one;
  one.Run(one.Task("1.1.0", {"sh", "-c", "echo out"}));
  one.Run(one.Task("1.1.1", {"sh", "-c", "echo err >&2"}));
  EXPECT_EQ(one.Forget("1.1.0").error(), "");
  EXPECT_EQ(one.Forget("1.1.1").error(), "");
  EXPECT_EQ(one.Output("1.1.0"), "out\n");
  EXPECT_FALSE(std::filesystem::exists(one.List().log_dir() + "/1.1.0.err"));
  EXPECT_EQ(one.Output("1.1.1", "err"), "err\n");
  // The empty one serves the next task.
  const v1::TaskState next = one.Run(one.Task("2.1.0", {"sh", "-c", "echo next >&2; echo next"}));
  EXPECT_EQ(next.exit_code(), 0);
  EXPECT_EQ(one.Output("2.1.0", "err"), "next\n");
  EXPECT_EQ(one.Output("2.1.0"), "next\n");
  EXPECT_EQ(one.Output("1.1.0"), "out\n");
  EXPECT_EQ(one.Output("1.1.1", "err"), "err\n");
}

TEST(Launcher, WhatIsLeftWhenTheMainProcessEndsIsEnded) {
  TestLauncher one;
  one.Run(one.Task("1.1.0", {"sh", "-c", "setsid sleep 1000 & (setsid sleep 1000 &) ; sleep 0.1; exit 0"}));
  EXPECT_TRUE(one.Processes().empty());
}

const char kStubborn[] =
    "trap '' TERM; (trap '' TERM; setsid sleep 1000 & setsid sh -c 'trap \"\" TERM; sleep 1000 & wait' & wait) & "
    "touch ready; while true; do sleep 1; done";

TEST(Launcher, StopEndsTheWholeTreeAlsoOneThatIgnoresSignals) {
  for (const char* flag : {"--single-user", "--no-cgroups"}) {
    TestLauncher one({"--single-user", flag});
    one.Start(one.Task("1.1.0", {"sh", "-c", kStubborn}));
    ASSERT_TRUE(Eventually([&] { return one.Processes().size() >= 4; }));
    EXPECT_NE(one.Forget("1.1.0").error(), "") << "it runs";
    EXPECT_EQ(one.Stop("1.1.0", kSecond / 5).error(), "");
    EXPECT_EQ(one.WaitEnd("1.1.0").signal(), SIGKILL);
    EXPECT_TRUE(one.Processes().empty());
  }
}

TEST(Launcher, StopGivesTheWholeTreeItsGrace) {
  TestLauncher one;
  // The shell ends at once on SIGTERM; its child has something to save first.
  const char script[] = "sh -c 'trap \"sleep 0.3; echo saved; exit\" TERM; touch ready; while true; do sleep 0.05; done' "
                        "& wait";
  one.Start(one.Task("1.1.0", {"sh", "-c", script}));
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(one.work() + "/ready"); }));
  one.Stop("1.1.0", 60 * kSecond);
  EXPECT_EQ(one.WaitEnd("1.1.0").signal(), SIGTERM);
  EXPECT_EQ(one.Output("1.1.0"), "saved\n");
}

TEST(Launcher, StopSendsTheSignalAsked) {
  TestLauncher one;
  one.Start(one.Task("1.1.0", {"sleep", "1000"}));
  one.Stop("1.1.0", 60 * kSecond, SIGUSR1);
  EXPECT_EQ(one.WaitEnd("1.1.0").signal(), SIGUSR1);
  EXPECT_EQ(one.Stop("9.9.9", 0).error(), "no task 9.9.9");
}

TEST(Launcher, KilledAndStartedAgainItTakesUpWhatRuns) {
  TestLauncher one;
  v1::StartTask task = one.Task("1.1.0", {"sh", "-c", "until [ -e go ]; do sleep 0.02; done; exit 7"});
  task.set_note("what \x01 it is");
  one.Start(task);
  one.Start(one.Task("1.1.1", {"sh", "-c", "until [ -e early ]; do sleep 0.02; done; exit 8"}));
  one.End(SIGKILL);
  std::ofstream(one.work() + "/early").flush();
  ASSERT_TRUE(Eventually([&] { return one.Shims().size() == 1; }));
  one.StartProcess();
  const v1::LauncherReply list = one.List();
  ASSERT_EQ(list.tasks_size(), 2);
  EXPECT_TRUE(list.tasks(0).running());
  EXPECT_EQ(list.tasks(0).note(), "what \x01 it is");
  EXPECT_GT(list.tasks(0).pid(), 0);
  EXPECT_FALSE(list.tasks(1).running());
  EXPECT_EQ(list.tasks(1).exit_code(), 8);
  std::ofstream(one.work() + "/go").flush();
  EXPECT_EQ(one.WaitEnd("1.1.0").exit_code(), 7);
}

TEST(Launcher, SigtermLeavesTasksAlone) {
  TestLauncher one;
  one.Start(one.Task("1.1.0", {"sleep", "1000"}));
  EXPECT_EQ(one.End(SIGTERM), 0);
  EXPECT_EQ(one.Processes().size(), 1u);
  one.StartProcess();
  one.Stop("1.1.0", 60 * kSecond);
  EXPECT_EQ(one.WaitEnd("1.1.0").signal(), SIGTERM);
}

void ExpectLost(bool launcher_away, const std::string& flag) {
  TestLauncher one({"--single-user", flag});
  one.Start(one.Task("1.1.0", {"sh", "-c", kStubborn}));
  ASSERT_TRUE(Eventually([&] { return one.Processes().size() >= 4; }));
  ASSERT_EQ(one.Shims().size(), 1u);
  if (launcher_away) one.End(SIGKILL);
  ::kill(one.Shims()[0], SIGKILL);
  if (launcher_away) {
    ASSERT_TRUE(Eventually([&] { return one.Shims().empty(); }));
    one.StartProcess();
  }
  // Either an event, or told by the list already.
  ASSERT_TRUE(Eventually([&] { return one.List().tasks(0).status_lost(); }));
  EXPECT_TRUE(one.Processes().empty());
  EXPECT_FALSE(one.List().tasks(0).running());
}

pid_t ForkServerOf(const TestLauncher& one) {
  for (const std::string& pid : Pids()) {
    const auto line = ReadFile("/proc/" + pid + "/cmdline", 1 << 20);
    const auto stat = ReadFile("/proc/" + pid + "/stat", 4096);
    if (line.ok() && stat.ok() && line->rfind("sinew-shim-server", 0) == 0 &&
        stat->find(") S " + std::to_string(one.pid()) + " ") != std::string::npos)
      return std::atoi(pid.c_str());
  }
  return 0;
}

TEST(Launcher, TheForkServerMayBeKilledAtAnyTime) {
  TestLauncher one;
  one.Start(one.Task("1.1.0", {"sh", "-c", "until [ -e go ]; do sleep 0.02; done; exit 7"}));
  ASSERT_GT(ForkServerOf(one), 0);
  ::kill(ForkServerOf(one), SIGKILL);
  EXPECT_EQ(one.Run(one.Task("1.1.1", {"sh", "-c", "exit 3"})).exit_code(), 3) << "another serves";
  std::ofstream(one.work() + "/go").flush();
  EXPECT_EQ(one.WaitEnd("1.1.0").exit_code(), 7) << "what it forked goes on";

  // While tasks are asked for: each runs once.
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    v1::LauncherRequest request;
    request.set_id(1'000'000 + i);
    *request.mutable_start() = one.Task(std::to_string(i) + ".2.0", {"sh", "-c", "echo ran >> ran." + std::to_string(i)});
    ASSERT_TRUE(one.client().Send(request).ok());
    if (random() % 20 == 0) {
      if (const pid_t pid = ForkServerOf(one); pid > 0) ::kill(pid, SIGKILL);
    }
  }
  for (std::set<std::string> ended; ended.size() < 200;) {
    const v1::LauncherReply reply = one.Next();
    ASSERT_EQ(reply.error(), "");
    for (const auto& state : reply.tasks()) {
      if (state.running() || !ended.insert(state.task()).second) continue;
      const std::string ran =
          ReadFile(one.work() + "/ran." + state.task().substr(0, state.task().find('.'))).value_or("");
      EXPECT_TRUE(!state.status_lost() && state.exit_code() == 0 && ran == "ran\n") << state.DebugString() << ran;
    }
  }
  EXPECT_TRUE(Eventually([&] { return one.Shims().empty(); }));
}

TEST(Launcher, AShimShowsWhoseItIs) {
  TestLauncher one;
  one.Start(one.Task("1.1.0", {"sleep", "1000"}));
  ASSERT_EQ(one.Shims().size(), 1u);
  const auto line = ReadFile("/proc/" + std::to_string(one.Shims()[0]) + "/cmdline", 1 << 20);
  EXPECT_EQ(line.value_or("").find(std::string("sinew-shim\0", 11) + one.spool() + "/1.1.0" + '\0'), 0u);
}

TEST(Launcher, AKilledShimMeansALostStatusAndNothingLeft) {
  ExpectLost(false, "--single-user");
  ExpectLost(false, "--no-cgroups");
}

TEST(Launcher, AShimKilledWhileTheLauncherWasAwayToo) {
  ExpectLost(true, "--single-user");
  ExpectLost(true, "--no-cgroups");
}

TEST(Launcher, RefusesWhatIsNotRight) {
  TestLauncher one;
  auto error = [&one](const std::function<void(v1::StartTask&)>& change) {
    v1::StartTask task = one.Task("1.1.0", {"true"});
    change(task);
    return one.Start(task).error();
  };
  for (const char* name : {"", "1.1", "1.1.0.0", "../1.1.0", "1.1.a", "1..0", "1.1.0/", ".1.0", " 1.1.0", "logs"})
    EXPECT_NE(error([&](v1::StartTask& t) { t.set_task(name); }), "") << name;
  EXPECT_NE(error([](v1::StartTask& t) { t.clear_argv(); }), "");
  EXPECT_NE(error([](v1::StartTask& t) { t.set_argv(0, ""); }), "");
  EXPECT_NE(error([](v1::StartTask& t) { t.add_argv(std::string("a\0b", 3)); }), "");
  EXPECT_NE(error([](v1::StartTask& t) { t.add_env("=x"); }), "");
  EXPECT_NE(error([](v1::StartTask& t) { t.add_env(std::string("A=\0", 3)); }), "");
  EXPECT_NE(error([](v1::StartTask& t) { t.set_workdir("work"); }), "");
  EXPECT_NE(error([](v1::StartTask& t) { t.set_stdout_path("out"); }), "");
  EXPECT_NE(error([](v1::StartTask& t) { t.add_cpus(-1); }), "");
  EXPECT_NE(error([](v1::StartTask& t) { t.set_uid(::getuid() + 1); }), "");
  EXPECT_NE(error([](v1::StartTask& t) { t.set_user("somebody-else"); }), "");
  EXPECT_NE(error([](v1::StartTask& t) { t.set_gid(4'000'000); }), "");
  EXPECT_EQ(one.List().tasks_size(), 0);
  EXPECT_NE(one.Stop("x", 0).error(), "");
  EXPECT_NE(one.Forget("../logs").error(), "");
  EXPECT_NE(one.Ask({}).error(), "") << "no verb";
}

TEST(Launcher, ALongListComesInPages) {
  TestLauncher one;
  for (int i = 0; i < 8; ++i) {
    v1::StartTask task = one.Task("1.1." + std::to_string(i), {"true"});
    task.set_note(std::string(60'000, static_cast<char>('a' + i)));
    ASSERT_EQ(one.Start(task).error(), "");
  }
  const v1::LauncherReply list = one.List();
  ASSERT_EQ(list.tasks_size(), 8);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(list.tasks(i).note()[0], 'a' + i);
}

TEST(Launcher, TakesAPacketOf256KiBAndHangsUpOnOneLarger) {
  TestLauncher one;
  v1::StartTask task = one.Task("1.1.0", {"true", std::string(120'000, 'a'), std::string(120'000, 'b')});
  EXPECT_EQ(one.Run(task).exit_code(), 0);
  task.add_argv(std::string(120'000, 'c'));
  v1::LauncherRequest request;
  *request.mutable_start() = task;
  EXPECT_EQ(one.client().Send(request).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(one.List().tasks_size(), 1) << "the connection is still good";
}

// Whether the launcher hung up after this packet.
bool HungUp(const std::string& socket, const std::string& packet) {
  auto fd = ConnectUnix(socket, SOCK_SEQPACKET);
  if (!fd.ok()) return false;
  const int size = 1 << 20;
  ::setsockopt(fd->get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
  ::send(fd->get(), packet.data(), packet.size(), MSG_NOSIGNAL);
  char reply[64];
  pollfd readable = {fd->get(), POLLIN, 0};
  ::poll(&readable, 1, kPatienceMs);
  return ::recv(fd->get(), reply, sizeof(reply), MSG_DONTWAIT) <= 0;
}

TEST(Launcher, HostilePacketsEndOnlyTheirConnection) {
  TestLauncher one;
  EXPECT_TRUE(HungUp(one.socket(), std::string(kMaxPacket + 1, 'x')));
  EXPECT_TRUE(HungUp(one.socket(), "\xff\xff\xff\xff"));
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string packet(random() % 300 + 1, '\0');
    for (char& byte : packet) byte = static_cast<char>(random());
    auto fd = ConnectUnix(one.socket(), SOCK_SEQPACKET);
    if (fd.ok()) ::send(fd->get(), packet.data(), packet.size(), MSG_NOSIGNAL);
    if (i % 16 == 0) one.List();  // it has read them all by then
  }
  EXPECT_EQ(one.List().error(), "");
  EXPECT_EQ(one.Run(one.Task("1.1.0", {"true"})).exit_code(), 0);
}

TEST(Launcher, EventsGoToEveryConnection) {
  TestLauncher one;
  auto other = LauncherClient::Connect(one.socket());
  ASSERT_TRUE(other.ok());
  one.List();
  one.Start(one.Task("1.1.0", {"sh", "-c", "sleep 0.2; exit 4"}));
  one.WaitEnd("1.1.0");
  std::vector<v1::TaskState> seen;
  ASSERT_TRUE(Eventually([&] {
    auto reply = other->Receive();
    if (reply.ok() && reply->has_value()) seen.push_back((*reply)->tasks(0));
    return !seen.empty() && !seen.back().running();
  }));
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen[0].running());
  EXPECT_EQ(seen.back().exit_code(), 4);
}

TEST(Launcher, AnotherUidIsHungUpOn) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another";
  TestLauncher one;
  ::chmod(one.socket().c_str(), 0666);
  for (const bool allowed : {true, false}) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (!allowed && ::setuid(UidOf("nobody")) != 0) ::_exit(9);
      auto client = LauncherClient::Connect(one.socket());
      if (!client.ok()) ::_exit(8);
      v1::LauncherRequest request;
      request.mutable_list();
      client->Send(request).IgnoreError();
      pollfd readable = {client->fd(), POLLIN, 0};
      ::poll(&readable, 1, kPatienceMs);
      auto reply = client->Receive();
      ::_exit(reply.ok() && reply->has_value() ? 1 : 0);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), allowed ? 1 : 0);
  }
}

TEST(LauncherOfRoot, RunsATaskAsItsUserAndNeverAsRoot) {
  if (::getuid() != 0) GTEST_SKIP() << "only root runs tasks as others";
  const uid_t nobody = UidOf("nobody"), agent = UidOf("daemon");
  TestLauncher one({}, agent);
  EXPECT_EQ(one.Start(one.Task("1.1.0", {"true"}, 0)).error(), "tasks never run as root; submit as another user");
  v1::StartTask other_group = one.Task("1.1.0", {"true"}, nobody);
  other_group.set_gid(0);
  EXPECT_NE(one.Start(other_group).error(), "");
  EXPECT_EQ(one.Run(one.Task("1.1.0", {"sh", "-c", "id -u; id -g; id -G; touch mine"}, nobody)).exit_code(), 0);
  EXPECT_EQ(one.Output("1.1.0"), "65534\n65534\n65534\n");
  struct stat info;
  ASSERT_EQ(::stat((one.work() + "/mine").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, nobody);
  ASSERT_EQ(::stat((one.spool() + "/logs/1.1.0.out").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, nobody);
  EXPECT_EQ(info.st_gid, ::getpwuid(agent)->pw_gid);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  ASSERT_EQ(::stat((one.spool() + "/1.1.0").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u) << "an environment may hold secrets";
}

TEST(LauncherOfRoot, OpensPathsAndFoldersWithTheUsersRights) {
  if (::getuid() != 0) GTEST_SKIP() << "only root runs tasks as others";
  TestLauncher one({}, UidOf("daemon"));
  ::mkdir((one.dir() + "/closed").c_str(), 0700);
  v1::StartTask task = one.Task("1.1.0", {"true"}, UidOf("nobody"));
  task.set_workdir(one.dir() + "/closed");
  EXPECT_EQ(one.Run(task).start_error(), "workdir " + one.dir() + "/closed: Permission denied");
  task.set_task("1.1.1");
  task.set_workdir("/");
  task.set_stdout_path(one.dir() + "/closed/out");
  EXPECT_EQ(one.Run(task).start_error(), "output " + one.dir() + "/closed/out: Permission denied");
}

TEST(LauncherOfRoot, AMemoryLimitIsKeptWhereThereAreCgroups) {
  TestLauncher one;
  if (one.List().cgroup() == "none") GTEST_SKIP() << "no cgroups here";
  v1::StartTask task = one.Task("1.1.0", {"python3", "-c", "x = bytearray(200 << 20); print(len(x))"});
  task.set_memory_bytes(64 << 20);
  EXPECT_EQ(one.Run(task).signal(), SIGKILL);
  task.set_task("1.1.1");
  task.set_memory_bytes(1 << 30);
  EXPECT_EQ(one.Run(task).exit_code(), 0);
}

TEST(Launcher, BindsToTheCpusAsked) {
  TestLauncher one;
  v1::StartTask task = one.Task("1.1.0", {"nproc"});
  task.add_cpus(0);
  one.Run(task);
  EXPECT_EQ(one.Output("1.1.0"), "1\n");
}

TEST(Launcher, OneSpoolHasOneLauncher) {
  TestLauncher one;
  auto spawned = Spawn({"agent/launcher/sinew-launcher",
                        {"sinew-launcher", "--socket", one.dir() + "/other", "--spool", one.spool(), "--agent-uid", "0",
                         "--single-user"}});
  ASSERT_TRUE(spawned.ok());
  int status = 0;
  ::waitpid(spawned->pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

}  // namespace
}  // namespace sinew::launcher
