// SPDX-License-Identifier: Apache-2.0
#include "trainer/runtime/runtime_client.h"

#include <grpcpp/grpcpp.h>

#include <utility>

namespace sinew::trainer {

RuntimeClient::RuntimeClient(RuntimeOptions options) : options_(std::move(options)) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // A unix path is no address of a proxy.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  stub_ = v1::TaskRuntime::NewStub(
      grpc::CreateCustomChannel("unix:" + options_.socket, grpc::InsecureChannelCredentials(), arguments));
  thread_ = std::thread([this] { Loop(); });
}

RuntimeClient::~RuntimeClient() {
  {
    absl::MutexLock lock(&mutex_);
    leaving_ = true;
    progress_due_ = absl::InfinitePast();
    const auto over = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return over_; };
    // A stopped agent reads nothing, and a write to it would block for ever.
    if (!mutex_.AwaitWithTimeout(absl::Condition(&over), absl::Seconds(1)) && context_ != nullptr) {
      context_->TryCancel();
    }
  }
  thread_.join();
}

absl::StatusOr<std::map<std::string, std::string>> RuntimeClient::Meet(std::map<std::string, std::string> mine,
                                                                       absl::Duration patience) {
  absl::MutexLock lock(&mutex_);
  mine_.emplace();
  for (auto& [key, value] : mine) (*mine_->mutable_values())[key] = std::move(value);
  said_ = false;
  const auto met = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return peers_.has_value(); };
  const absl::Time deadline = absl::Now() + patience;
  while (!mutex_.AwaitWithTimeout(absl::Condition(&met), absl::Milliseconds(200))) {
    if (!refused_.ok() && absl::Now() - refused_since_ > options_.refusal) return refused_;
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError("the agent at " + options_.socket + " did not say within " +
                                         absl::FormatDuration(patience) + " that all workers are there");
    }
  }
  return *peers_;
}

void RuntimeClient::Report(const v1::Progress& progress) {
  absl::MutexLock lock(&mutex_);
  progress_ = progress;
}

bool RuntimeClient::stop_asked() const {
  absl::MutexLock lock(&mutex_);
  return stop_asked_;
}

bool RuntimeClient::TakeCheckpointAsked() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(checkpoint_asked_, false);
}

void RuntimeClient::Hear(const v1::RuntimeMessage& message) {
  absl::MutexLock lock(&mutex_);
  refused_ = absl::OkStatus();
  refused_since_ = absl::InfiniteFuture();
  if (message.has_peers()) {
    peers_.emplace();
    for (const auto& [key, value] : message.peers().values()) (*peers_)[key] = value;
  }
  if (message.has_stop()) stop_asked_ = true;
  if (message.has_checkpoint()) checkpoint_asked_ = true;
}

void RuntimeClient::Talk() {
  grpc::ClientContext context;
  {
    absl::MutexLock lock(&mutex_);
    context_ = &context;
    broken_ = false;
    said_ = false;
  }
  const auto stream = stub_->Connect(&context);
  v1::TaskMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_token(options_.token);
  hello.set_job(options_.job);
  hello.set_run(options_.run);
  hello.set_rank(options_.rank);
  bool writable = stream->Write(message);
  std::thread reader([&] {
    v1::RuntimeMessage heard;
    while (stream->Read(&heard)) Hear(heard);
    absl::MutexLock lock(&mutex_);
    broken_ = true;
  });
  while (writable) {
    message.Clear();
    {
      absl::MutexLock lock(&mutex_);
      const auto something = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return broken_ || leaving_ || (mine_ && !said_ && !peers_);
      };
      // Progress falls due by time, not by an event.
      mutex_.AwaitWithTimeout(absl::Condition(&something), options_.progress_every / 5);
      if (broken_) break;
      if (mine_ && !said_ && !peers_) {
        *message.mutable_set_values() = *mine_;
        said_ = true;
      } else if (progress_ && absl::Now() >= progress_due_) {
        *message.mutable_progress() = *std::move(progress_);
        progress_.reset();
        progress_due_ = leaving_ ? absl::InfinitePast() : absl::Now() + options_.progress_every;
      } else if (leaving_) {
        break;
      } else {
        continue;
      }
    }
    writable = stream->Write(message);
  }
  stream->WritesDone();
  // The agent ends its side when ours ends; one that does not is not waited for.
  {
    absl::MutexLock lock(&mutex_);
    const auto broken = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return broken_; };
    // Cancelling a stream that has ended would hide the agent's answer.
    if (!mutex_.AwaitWithTimeout(absl::Condition(&broken), absl::Milliseconds(500))) context.TryCancel();
  }
  reader.join();
  const grpc::Status end = stream->Finish();
  absl::MutexLock lock(&mutex_);
  context_ = nullptr;
  switch (end.error_code()) {
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::INVALID_ARGUMENT:
      if (refused_.ok()) refused_since_ = absl::Now();
      refused_ = absl::Status(static_cast<absl::StatusCode>(end.error_code()),
                              "the agent at " + options_.socket + " says: " + end.error_message());
      break;
    default:
      break;
  }
}

void RuntimeClient::Loop() {
  while (true) {
    Talk();
    absl::MutexLock lock(&mutex_);
    const auto leaving = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return leaving_; };
    if (mutex_.AwaitWithTimeout(absl::Condition(&leaving), options_.retry)) {
      over_ = true;
      return;
    }
  }
}

}  // namespace sinew::trainer
