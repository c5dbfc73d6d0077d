// SPDX-License-Identifier: Apache-2.0
#include "agent/controller_client.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"

namespace sinew::agent {

struct ControllerClient::Stream {
  uint64_t number = 0;
  grpc::ClientContext context;
  absl::Mutex mutex;
  std::deque<v1::AgentMessage> queue ABSL_GUARDED_BY(mutex);
  bool over ABSL_GUARDED_BY(mutex) = false;

  void End() {
    {
      absl::MutexLock lock(&mutex);
      over = true;
    }
    context.TryCancel();
  }
  // False when it ended.
  bool Take(std::deque<v1::AgentMessage>& batch) {
    absl::MutexLock lock(&mutex);
    const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return over || !queue.empty(); };
    mutex.Await(absl::Condition(&ready));
    batch.clear();
    batch.swap(queue);
    return !over;
  }
};

std::shared_ptr<grpc::Channel> DaemonChannel(const std::string& socket) {
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  args.SetMaxReceiveMessageSize(64 << 20);
  args.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "sinewd");
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), args);
}

int64_t Backoff::NextMs() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  const int64_t ms = ms_ * 3 / 4 + static_cast<int64_t>(state_ % static_cast<uint64_t>(ms_ / 2));
  ms_ = std::min<int64_t>(ms_ * 2, 5000);
  return ms;
}

ControllerClient::ControllerClient(std::shared_ptr<grpc::Channel> channel, Events events)
    : channel_(std::move(channel)), stub_(v1::AgentControl::NewStub(channel_)), events_(std::move(events)) {}

ControllerClient::~ControllerClient() { Stop(); }

void ControllerClient::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void ControllerClient::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    if (open_) open_->End();
  }
  if (thread_.joinable()) thread_.join();
}

// False when it is time to stop.
bool ControllerClient::Pause(int64_t ms) {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&stopping_), absl::Milliseconds(ms));
  return !stopping_;
}

void ControllerClient::Loop() {
  Backoff backoff(static_cast<uint64_t>(WallNs()));
  uint64_t number = 0;
  std::string told;
  do {
    bool heard = false;
    const std::string why = RunStream(++number, heard);
    if (heard) {
      backoff.Reset();
      told.clear();
    }
    // Once for each reason, not once for each attempt.
    if (why != told) events_.disconnected(number, why);
    else events_.disconnected(number, "");
    told = why;
  } while (Pause(backoff.NextMs()));
}

std::string ControllerClient::RunStream(uint64_t number, bool& heard) {
  if (!channel_->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(2))) {
    return "the daemon cannot be reached";
  }
  auto stream = std::make_shared<Stream>();
  stream->number = number;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return "stopping";
    open_ = stream;
  }
  auto rpc = stub_->Session(&stream->context);
  std::thread writer([&] {
    std::deque<v1::AgentMessage> batch;
    while (stream->Take(batch)) {
      for (const v1::AgentMessage& message : batch) {
        if (!rpc->Write(message)) return;  // the reader hears of it too
      }
    }
  });
  events_.connected(number);
  v1::ControllerMessage message;
  while (rpc->Read(&message)) {
    heard = true;
    events_.message(number, std::move(message));
  }
  {
    absl::MutexLock lock(&mutex_);
    open_.reset();
  }
  stream->End();
  writer.join();
  const grpc::Status status = rpc->Finish();
  return status.ok() ? "the daemon ended the stream" : status.error_message();
}

void ControllerClient::Send(uint64_t number, std::vector<v1::AgentMessage> messages) {
  if (messages.empty()) return;
  std::shared_ptr<Stream> stream;
  {
    absl::MutexLock lock(&mutex_);
    stream = open_;
  }
  if (!stream || stream->number != number) return;
  bool full = false;
  {
    absl::MutexLock lock(&stream->mutex);
    for (v1::AgentMessage& message : messages) {
      if (message.has_progress() && stream->queue.size() > kMaxQueued / 4) continue;
      stream->queue.push_back(std::move(message));
    }
    full = stream->queue.size() > kMaxQueued;
  }
  if (full) stream->End();
}

void ControllerClient::Restart(uint64_t number) {
  absl::MutexLock lock(&mutex_);
  if (open_ && open_->number == number) open_->End();
}

}  // namespace sinew::agent
