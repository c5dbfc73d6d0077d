// SPDX-License-Identifier: Apache-2.0
#include "base/acceptor.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "base/unix_socket.h"

namespace sinew {
namespace {

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class AcceptorTest : public ::testing::Test {
 protected:
  void Start(Acceptor::Options options) {
    std::string pattern = ::testing::TempDir() + "/acc-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    auto listener = ListenUnix(dir_ + "/s", SOCK_STREAM, 0600);
    ASSERT_TRUE(listener.ok()) << listener.status();
    acceptor_ = std::make_unique<Acceptor>(options, *std::move(listener), [this](int fd) {
      absl::MutexLock lock(&mutex_);
      numbers_.push_back(fd);
      open_.emplace_back(fd);
    });
    acceptor_->Start();
  }
  void TearDown() override {
    acceptor_.reset();
    std::filesystem::remove_all(dir_);
  }
  UniqueFd Connect(bool greet) {
    auto fd = ConnectUnix(dir_ + "/s", SOCK_STREAM);
    if (!fd.ok()) return UniqueFd();
    if (greet && ::send(fd->get(), kPreface, sizeof(kPreface) - 1, MSG_NOSIGNAL) < 0) return UniqueFd();
    return *std::move(fd);
  }
  size_t Handed() {
    absl::MutexLock lock(&mutex_);
    return numbers_.size();
  }
  template <typename F>
  bool Eventually(F f) {
    for (int i = 0; i < 1000; ++i) {
      if (f()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  std::string dir_;
  absl::Mutex mutex_;
  std::vector<int> numbers_;
  std::vector<UniqueFd> open_;
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, HandsOverWithTheCallersIdentity) {
  Start({});
  UniqueFd fd = Connect(true);
  ASSERT_TRUE(Eventually([&] { return Handed() == 1; }));
  const auto caller = acceptor_->CallerOf("fd:" + std::to_string(numbers_[0]));
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->uid, ::getuid());
  EXPECT_EQ(caller->pid, ::getpid());
  EXPECT_FALSE(acceptor_->CallerOf("fd:3"));
  EXPECT_FALSE(acceptor_->CallerOf("unix:"));
}

TEST_F(AcceptorTest, NumbersAreNotUsedAgainSoon) {
  Start({});
  std::set<int> seen;
  for (int i = 0; i < 50; ++i) {
    UniqueFd fd = Connect(true);
    ASSERT_TRUE(Eventually([&] { return Handed() == static_cast<size_t>(i + 1); }));
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(seen.insert(numbers_.back()).second);
    open_.clear();
  }
}

TEST_F(AcceptorTest, R2SilentAndSlowAndForeignConnectionsAreDropped) {
  Start({.handshake_ns = 300'000'000});
  UniqueFd silent = Connect(false);
  UniqueFd slow = Connect(false);
  ASSERT_EQ(::send(slow.get(), kPreface, 5, 0), 5);
  UniqueFd foreign = Connect(false);
  ASSERT_EQ(::send(foreign.get(), "GET / HTTP/1.1\r\n", 16, 0), 16);
  EXPECT_TRUE(Eventually([&] { return acceptor_->shed() == 3; }));
  char byte;
  EXPECT_EQ(::recv(silent.get(), &byte, 1, 0), 0);
  EXPECT_EQ(Handed(), 0u);
  UniqueFd good = Connect(true);
  EXPECT_TRUE(Eventually([&] { return Handed() == 1; }));
}

TEST_F(AcceptorTest, R1AFloodIsShedAndServiceGoesOnAfterIt) {
  Start({.max_connections = 40, .max_per_uid = 30, .handshake_ns = 200'000'000});
  std::vector<UniqueFd> flood;
  for (int i = 0; i < 300; ++i) flood.push_back(Connect(i % 2 == 0));
  EXPECT_TRUE(Eventually([&] { return acceptor_->shed() >= 250; })) << acceptor_->shed();
  EXPECT_LE(Handed(), 30u);
  flood.clear();
  {
    absl::MutexLock lock(&mutex_);
    open_.clear();
    numbers_.clear();
  }
  EXPECT_TRUE(Eventually([&] {
    UniqueFd fd = Connect(true);
    return Eventually([&] { return Handed() > 0; });
  }));
}

TEST_F(AcceptorTest, R1OutOfDescriptorsIsWaitedOut) {
  Start({});
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  std::vector<UniqueFd> hoard;
  UniqueFd one = Connect(false);
  rlimit low = old;
  low.rlim_cur = one.get() + 1;
  UniqueFd late(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ::setrlimit(RLIMIT_NOFILE, &low);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ::setrlimit(RLIMIT_NOFILE, &old);
  UniqueFd fd = Connect(true);
  EXPECT_TRUE(Eventually([&] { return Handed() >= 1; }));
}

}  // namespace
}  // namespace sinew
