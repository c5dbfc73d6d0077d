// SPDX-License-Identifier: Apache-2.0
#include "agent/runtime_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

namespace sinew::agent {
namespace {

using Stream = grpc::ClientReaderWriter<v1::TaskMessage, v1::RuntimeMessage>;

// One server; the event handlers note what they were told.
class RuntimeServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char dir[] = "/tmp/sinew-runtime-XXXXXX";
    ASSERT_NE(::mkdtemp(dir), nullptr);
    socket_ = std::string(dir) + "/s";
    server_ = std::make_unique<RuntimeServer>(
        socket_, RuntimeServer::Events{[](const Key& key, const std::string& token, uid_t uid) {
                                         return token == "token-" + std::to_string(key.rank) && uid == ::getuid()
                                                    ? grpc::Status::OK
                                                    : grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "no");
                                       },
                                       [this](const Key& key, std::map<std::string, std::string> values) {
                                         absl::MutexLock lock(&mutex_);
                                         values_[key] = std::move(values);
                                       },
                                       [this] {
                                         absl::MutexLock lock(&mutex_);
                                         ++told_;
                                       }});
    ASSERT_TRUE(server_->Start().ok());
  }
  void TearDown() override {
    server_.reset();
    EXPECT_NE(::access(socket_.c_str(), F_OK), 0) << "the socket's file goes with it";
    ::rmdir(socket_.substr(0, socket_.size() - 2).c_str());
  }

  struct Task {
    std::unique_ptr<v1::TaskRuntime::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<Stream> stream;
  };
  std::unique_ptr<Task> Connect(int32_t rank, const std::string& token) {
    auto task = std::make_unique<Task>();
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    task->stub = v1::TaskRuntime::NewStub(
        grpc::CreateCustomChannel("unix:" + socket_, grpc::InsecureChannelCredentials(), args));
    task->stream = task->stub->Connect(&task->context);
    v1::TaskMessage message;
    message.mutable_hello()->set_token(token);
    message.mutable_hello()->set_job(1);
    message.mutable_hello()->set_run(1);
    message.mutable_hello()->set_rank(rank);
    task->stream->Write(message);
    return task;
  }
  static v1::TaskMessage Step(int64_t step) {
    v1::TaskMessage message;
    message.mutable_progress()->set_step(step);
    return message;
  }
  template <typename Probe>
  static bool Eventually(Probe probe) {
    for (int i = 0; i < 1000; ++i) {
      if (probe()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  std::string socket_;
  absl::Mutex mutex_;
  std::map<Key, std::map<std::string, std::string>> values_;
  int told_ = 0;
  std::unique_ptr<RuntimeServer> server_;
};

TEST_F(RuntimeServerTest, AStrangerIsTurnedAway) {
  auto task = Connect(0, "guessed");
  v1::RuntimeMessage message;
  EXPECT_FALSE(task->stream->Read(&message));
  EXPECT_EQ(task->stream->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(RuntimeServerTest, TheFirstMessageMustBeHello) {
  Task task;
  task.stub = v1::TaskRuntime::NewStub(grpc::CreateChannel("unix:" + socket_, grpc::InsecureChannelCredentials()));
  task.stream = task.stub->Connect(&task.context);
  task.stream->Write(Step(1));
  v1::RuntimeMessage message;
  EXPECT_FALSE(task.stream->Read(&message));
  EXPECT_EQ(task.stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(RuntimeServerTest, ValuesGoUpAndPeersComeDown) {
  auto task = Connect(2, "token-2");
  v1::TaskMessage values;
  (*values.mutable_set_values()->mutable_values())["store"] = "host:1";
  task->stream->Write(values);
  ASSERT_TRUE(Eventually([&] {
    absl::MutexLock lock(&mutex_);
    return values_[{1, 1, 2}]["store"] == "host:1";
  }));
  v1::RuntimeMessage peers;
  (*peers.mutable_peers()->mutable_values())["rank.3"] = "x";
  server_->Tell({1, 1, 2}, peers);
  server_->Tell({1, 1, 9}, peers);  // nobody: dropped
  v1::RuntimeMessage heard;
  ASSERT_TRUE(task->stream->Read(&heard));
  EXPECT_EQ(heard.peers().values().at("rank.3"), "x");
}

TEST_F(RuntimeServerTest, TooManyValuesEndTheStream) {
  auto task = Connect(0, "token-0");
  v1::TaskMessage values;
  (*values.mutable_set_values()->mutable_values())["blob"] = std::string(RuntimeServer::kMaxValueBytes, 'x');
  task->stream->Write(values);
  v1::RuntimeMessage message;
  EXPECT_FALSE(task->stream->Read(&message));
  EXPECT_EQ(task->stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(RuntimeServerTest, AFloodOfProgressIsToldOnceUntilTaken) {
  auto task = Connect(0, "token-0");
  for (int64_t i = 1; i <= 5000; ++i) ASSERT_TRUE(task->stream->Write(Step(i)));
  int64_t newest = 0;
  ASSERT_TRUE(Eventually([&] {
    for (const auto& [key, progress] : server_->TakeProgress()) newest = progress.step();
    return newest == 5000;
  }));
  task->stream->WritesDone();
  v1::RuntimeMessage message;
  EXPECT_FALSE(task->stream->Read(&message));
  absl::MutexLock lock(&mutex_);
  EXPECT_LT(told_, 1100) << "no more than it was taken";
}

TEST_F(RuntimeServerTest, ATaskThatComesAnewReplacesItsOldStream) {
  auto old = Connect(0, "token-0");
  old->stream->Write(Step(1));
  ASSERT_TRUE(Eventually([&] { return server_->TakeProgress().size() == 1; }));
  auto fresh = Connect(0, "token-0");
  v1::RuntimeMessage message;
  EXPECT_FALSE(old->stream->Read(&message));
  fresh->stream->Write(Step(2));
  ASSERT_TRUE(Eventually([&] { return server_->TakeProgress().size() == 1; }));
  v1::RuntimeMessage stop;
  stop.mutable_stop()->set_reason("enough");
  server_->Tell({1, 1, 0}, stop);
  ASSERT_TRUE(fresh->stream->Read(&message));
  EXPECT_EQ(message.stop().reason(), "enough");
}

TEST_F(RuntimeServerTest, StopEndsOpenStreams) {
  auto task = Connect(0, "token-0");
  task->stream->Write(Step(1));
  ASSERT_TRUE(Eventually([&] { return server_->TakeProgress().size() == 1; }));
  server_->Stop();
  v1::RuntimeMessage message;
  EXPECT_FALSE(task->stream->Read(&message));
}

}  // namespace
}  // namespace sinew::agent
