// SPDX-License-Identifier: Apache-2.0
// The worker's side against the agent's own server.
#include "trainer/runtime/runtime_client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "agent/runtime_server.h"

namespace sinew::trainer {
namespace {

using agent::Key;
using agent::RuntimeServer;

class RuntimeClientTest : public testing::Test {
 protected:
  RuntimeClientTest() {
    char dir[] = "/tmp/sinew-runtime-XXXXXX";
    folder_ = ::mkdtemp(dir);
    socket_ = folder_ + "/s";
  }
  ~RuntimeClientTest() override {
    server_.reset();
    ::rmdir(folder_.c_str());
  }

  // An agent that lets ranks 0 and 1 meet, and remembers the newest progress.
  void StartAgent() {
    server_ = std::make_unique<RuntimeServer>(
        socket_, RuntimeServer::Events{
                     [](const Key&, const std::string& token, uid_t) {
                       return token == "right" ? grpc::Status::OK
                                               : grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "wrong token");
                     },
                     [this](const Key& key, std::map<std::string, std::string> values) {
                       absl::MutexLock lock(&mutex_);
                       ++said_;
                       values_[key] = std::move(values);
                       if (values_.size() < 2 || silent_) return;
                       v1::RuntimeMessage message;
                       for (const auto& [rank, all] : values_) {
                         for (const auto& [name, value] : all) (*message.mutable_peers()->mutable_values())[name] = value;
                       }
                       for (const auto& [rank, all] : values_) server_->Tell(rank, message);
                     },
                     [this] {
                       for (const auto& [key, progress] : server_->TakeProgress()) {
                         absl::MutexLock lock(&mutex_);
                         steps_[key.rank] = progress.step();
                       }
                     }});
    ASSERT_TRUE(server_->Start().ok());
  }
  std::unique_ptr<RuntimeClient> Client(int rank, const std::string& token = "right") {
    RuntimeOptions options{.socket = socket_, .token = token, .job = 1, .run = 1, .rank = rank};
    options.progress_every = absl::Milliseconds(20);
    options.retry = absl::Milliseconds(20);
    options.refusal = absl::Milliseconds(300);
    return std::make_unique<RuntimeClient>(options);
  }
  int64_t Step(int rank) {
    absl::MutexLock lock(&mutex_);
    return steps_.contains(rank) ? steps_[rank] : -1;
  }
  template <typename Probe>
  static bool Eventually(Probe probe) {
    for (int i = 0; i < 1000; ++i) {
      if (probe()) return true;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return false;
  }

  std::string folder_, socket_;
  std::unique_ptr<RuntimeServer> server_;
  absl::Mutex mutex_;
  bool silent_ = false;
  int said_ = 0;
  std::map<Key, std::map<std::string, std::string>> values_;
  std::map<int, int64_t> steps_;
};

v1::Progress AtStep(int64_t step) {
  v1::Progress progress;
  progress.set_step(step);
  return progress;
}

TEST_F(RuntimeClientTest, MeetsItsPeers) {
  StartAgent();
  const auto one = Client(0), other = Client(1);
  std::thread second([&] {
    const auto all = other->Meet({{"rank.1", "b"}}, absl::Seconds(20));
    EXPECT_TRUE(all.ok()) << all.status();
  });
  const auto all = one->Meet({{"store", "a:1"}}, absl::Seconds(20));
  second.join();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(*all, (std::map<std::string, std::string>{{"store", "a:1"}, {"rank.1", "b"}}));
}

TEST_F(RuntimeClientTest, SaysItsValuesAnewToAnAgentThatWasRestarted) {
  StartAgent();
  {
    absl::MutexLock lock(&mutex_);
    silent_ = true;
  }
  const auto one = Client(0), other = Client(1);
  std::thread first([&] { EXPECT_TRUE(one->Meet({{"x", "1"}}, absl::Seconds(20)).ok()); });
  std::thread second([&] { EXPECT_TRUE(other->Meet({{"y", "2"}}, absl::Seconds(20)).ok()); });
  EXPECT_TRUE(Eventually([&] {
    absl::MutexLock lock(&mutex_);
    return said_ == 2;
  }));
  server_.reset();
  {
    absl::MutexLock lock(&mutex_);
    silent_ = false;
    values_.clear();
  }
  StartAgent();
  first.join();
  second.join();
}

TEST_F(RuntimeClientTest, ReportsTheNewestProgressAlsoWhenItLeaves) {
  StartAgent();
  auto client = Client(3);
  for (int64_t step = 0; step <= 100; ++step) client->Report(AtStep(step));
  EXPECT_TRUE(Eventually([&] { return Step(3) == 100; }));
  client->Report(AtStep(200));
  client.reset();
  EXPECT_TRUE(Eventually([&] { return Step(3) == 200; }));
}

TEST_F(RuntimeClientTest, ReportsAgainAfterTheAgentWasAway) {
  const auto client = Client(0);  // before there is an agent
  client->Report(AtStep(1));
  absl::SleepFor(absl::Milliseconds(100));
  StartAgent();
  EXPECT_TRUE(Eventually([&] { return Step(0) == 1; }));
  server_.reset();
  client->Report(AtStep(2));
  absl::SleepFor(absl::Milliseconds(100));
  StartAgent();
  EXPECT_TRUE(Eventually([&] {
    client->Report(AtStep(3));
    return Step(0) == 3;
  }));
}

TEST_F(RuntimeClientTest, HearsThatItShallStop) {
  StartAgent();
  const auto client = Client(0);
  client->Report(AtStep(1));
  ASSERT_TRUE(Eventually([&] { return Step(0) == 1; }));
  EXPECT_FALSE(client->stop_asked());
  v1::RuntimeMessage message;
  message.mutable_checkpoint();
  server_->Tell({1, 1, 0}, message);
  EXPECT_TRUE(Eventually([&] { return client->TakeCheckpointAsked(); }));
  EXPECT_FALSE(client->TakeCheckpointAsked());
  message.mutable_stop()->set_reason("drain");
  server_->Tell({1, 1, 0}, message);
  EXPECT_TRUE(Eventually([&] { return client->stop_asked(); }));
}

TEST_F(RuntimeClientTest, SaysThatItIsRefused) {
  StartAgent();
  const auto client = Client(0, "wrong");
  const auto all = client->Meet({}, absl::Seconds(20));
  EXPECT_EQ(all.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(all.status().message(), "the agent at " + socket_ + " says: wrong token");
}

TEST_F(RuntimeClientTest, GivesUpAndLeavesWithoutAnAgent) {
  auto client = Client(0);
  client->Report(AtStep(1));
  EXPECT_EQ(client->Meet({}, absl::Milliseconds(300)).status().code(), absl::StatusCode::kDeadlineExceeded);
  client.reset();
}

}  // namespace
}  // namespace sinew::trainer
