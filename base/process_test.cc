// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstdlib>
#include <cstring>

#include "base/signals.h"
#include "base/unix_socket.h"

namespace sinew {
namespace {

TEST(Process, SpawnPassesDescriptorsAndEnvironmentAndGivesAPidfd) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const std::vector<std::string> env = {"WORD=a $b"};
  SpawnOptions options{"/bin/sh", {"sh", "-c", "printf %s \"$WORD\" >&5; exit 3"}, &env, {{ends[1], 5}}, true};
  auto spawned = Spawn(options);
  ASSERT_TRUE(spawned.ok()) << spawned.status();
  ::close(ends[1]);
  char text[32] = {};
  EXPECT_EQ(::read(ends[0], text, sizeof(text) - 1), 4);
  EXPECT_STREQ(text, "a $b");
  ::close(ends[0]);
  pollfd end = {spawned->pidfd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 60'000), 1);
  int status = 0;
  EXPECT_EQ(::waitpid(spawned->pid, &status, 0), spawned->pid);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST(Process, SpawnOfWhatIsNotThereNamesIt) {
  auto spawned = Spawn({"/no/such/program", {"x"}});
  ASSERT_FALSE(spawned.ok());
  EXPECT_EQ(std::string(spawned.status().message()), "start /no/such/program: No such file or directory");
}

TEST(Process, FindsWhatLiesBesideItAndSaysWhereItLooked) {
  EXPECT_TRUE(FindSibling("process_test").ok());
  auto none = FindSibling("no-such-program");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(std::string(none.status().message()).find("no-such-program"), std::string::npos);
}

TEST(Process, NotifiesTheServiceManager) {
  char folder[] = "/tmp/sinew-notify-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = std::string(folder) + "/n";
  std::strcpy(address.sun_path, path.c_str());
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  SdNotify("READY=1");
  ::unsetenv("NOTIFY_SOCKET");
  char text[32] = {};
  EXPECT_EQ(::recv(fd, text, sizeof(text), 0), 7);
  EXPECT_STREQ(text, "READY=1");
  ::close(fd);
}

TEST(Signals, ComeThroughTheDescriptor) {
  auto fd = TakeSignals();
  ASSERT_TRUE(fd.ok());
  EXPECT_EQ(NextSignal(fd->get()), 0);
  ::raise(SIGTERM);
  EXPECT_EQ(NextSignal(fd->get()), SIGTERM);
}

class UnixSocket : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/sinew-socket-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    path_ = std::string(folder) + "/s";
  }
  std::string path_;
};

TEST_P(UnixSocket, HasTheModeAskedForAndKnowsItsPeer) {
  auto listener = ListenUnix(path_, GetParam(), 0666);
  ASSERT_TRUE(listener.ok()) << listener.status();
  struct stat info;
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
  auto client = ConnectUnix(path_, GetParam());
  ASSERT_TRUE(client.ok()) << client.status();
  UniqueFd server(::accept(listener->get(), nullptr, nullptr));
  auto peer = PeerOf(server.get());
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->uid, ::getuid());
  EXPECT_EQ(peer->pid, ::getpid());
}

TEST_P(UnixSocket, ReplacesAStaleFileButNotALiveOne) {
  { auto gone = ListenUnix(path_, GetParam(), 0600); ASSERT_TRUE(gone.ok()); }
  auto listener = ListenUnix(path_, GetParam(), 0600);
  ASSERT_TRUE(listener.ok()) << listener.status();
  auto second = ListenUnix(path_, GetParam(), 0600);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(std::string(second.status().message()).find(path_), std::string::npos);
}

TEST_P(UnixSocket, ErrorsNameThePath) {
  auto none = ConnectUnix(path_, GetParam());
  EXPECT_EQ(std::string(none.status().message()), "connect to " + path_ + ": No such file or directory");
}

TEST_P(UnixSocket, TakesAPathLongerThanTheKernelDoes) {
  const std::string folder = path_ + std::string(120, 'x');
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  auto listener = ListenUnix(folder + "/s", GetParam(), 0600);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_TRUE(ConnectUnix(folder + "/s", GetParam()).ok());
}

INSTANTIATE_TEST_SUITE_P(Types, UnixSocket, ::testing::Values(SOCK_STREAM, SOCK_SEQPACKET));

}  // namespace
}  // namespace sinew
