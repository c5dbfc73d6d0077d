// SPDX-License-Identifier: Apache-2.0
#include "agent/runtime_server.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <thread>
#include <utility>

#include "base/status_macros.h"
#include "base/unix_socket.h"

namespace sinew::agent {
namespace {

constexpr int kMaxMessage = 64 << 10;
constexpr int kMaxThreads = 2048;

}  // namespace

struct RuntimeServer::Link {
  grpc::ServerContext* context = nullptr;
  absl::Mutex mutex;
  std::deque<v1::RuntimeMessage> queue ABSL_GUARDED_BY(mutex);
  bool over ABSL_GUARDED_BY(mutex) = false;

  // From outside; within Connect itself the status is still to be sent.
  void Cancel() {
    absl::MutexLock lock(&mutex);
    if (!over) context->TryCancel();
    over = true;
  }
  void End() {
    absl::MutexLock lock(&mutex);
    over = true;
  }
};

RuntimeServer::RuntimeServer(std::string socket, Events events)
    : socket_(std::move(socket)), events_(std::move(events)) {}

RuntimeServer::~RuntimeServer() { Stop(); }

absl::Status RuntimeServer::Start() {
  ASSIGN_OR_RETURN(UniqueFd listener, ListenUnix(socket_, SOCK_STREAM, 0666));
  grpc::ServerBuilder builder;
  builder.RegisterService(this);
  grpc::ResourceQuota quota("runtime");
  quota.SetMaxThreads(kMaxThreads);
  quota.Resize(128 << 20);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(kMaxMessage);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 8);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8 << 10);
  // Tasks may ping as often as they like; it is not worth losing one.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  server_ = builder.BuildAndStart();
  if (!server_) return absl::InternalError("gRPC would not start");
  acceptor_ = std::make_unique<Acceptor>(Acceptor::Options{}, std::move(listener), [this](int fd) {
    grpc::AddInsecureChannelFromFd(server_.get(), fd);
  });
  acceptor_->Start();
  return absl::OkStatus();
}

void RuntimeServer::Stop() {
  if (!server_) return;
  acceptor_->Stop();
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [key, link] : links_) link->Cancel();
  }
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
  server_.reset();
  ::unlink(socket_.c_str());
}

void RuntimeServer::Tell(const Key& key, v1::RuntimeMessage message) {
  std::shared_ptr<Link> link;
  {
    absl::MutexLock lock(&mutex_);
    if (auto it = links_.find(key); it != links_.end()) link = it->second;
  }
  if (!link) return;
  absl::MutexLock lock(&link->mutex);
  link->queue.push_back(std::move(message));
}

std::map<Key, v1::Progress> RuntimeServer::TakeProgress() {
  std::map<Key, v1::Progress> taken;
  absl::MutexLock lock(&mutex_);
  taken.swap(progress_);
  return taken;
}

grpc::Status RuntimeServer::Connect(grpc::ServerContext* context,
                                    grpc::ServerReaderWriter<v1::RuntimeMessage, v1::TaskMessage>* stream) {
  const auto caller = acceptor_->CallerOf(context->peer());
  if (!caller) return {grpc::StatusCode::UNAUTHENTICATED, "the connection's user is not known"};
  v1::TaskMessage message;
  if (!stream->Read(&message) || !message.has_hello()) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "the first message must be hello"};
  }
  const Key key{message.hello().job(), message.hello().run(), message.hello().rank()};
  if (grpc::Status status = events_.admit(key, message.hello().token(), caller->uid); !status.ok()) return status;
  auto link = std::make_shared<Link>();
  link->context = context;
  {
    absl::MutexLock lock(&mutex_);
    std::shared_ptr<Link>& slot = links_[key];
    if (slot) slot->Cancel();  // the task came anew; its old stream was not yet seen to be gone
    slot = link;
  }
  std::thread writer([&] {
    while (true) {
      v1::RuntimeMessage next;
      {
        absl::MutexLock lock(&link->mutex);
        Link& l = *link;
        const auto ready = [&l]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return l.over || !l.queue.empty(); };
        l.mutex.Await(absl::Condition(&ready));
        if (l.over) return;
        next = std::move(l.queue.front());
        l.queue.pop_front();
      }
      if (!stream->Write(next)) return;
    }
  });
  grpc::Status status = grpc::Status::OK;
  while (stream->Read(&message)) {
    if (message.has_set_values()) {
      std::map<std::string, std::string> values;
      size_t bytes = 0;
      for (const auto& [name, value] : message.set_values().values()) {
        bytes += name.size() + value.size();
        values[name] = value;
      }
      if (bytes > kMaxValueBytes) {
        status = {grpc::StatusCode::INVALID_ARGUMENT,
                  "set_values holds " + std::to_string(bytes) + " bytes; at most " + std::to_string(kMaxValueBytes)};
        break;
      }
      events_.values(key, std::move(values));
    } else if (message.has_progress()) {
      bool first = false;
      {
        absl::MutexLock lock(&mutex_);
        first = progress_.empty();
        progress_[key] = std::move(*message.mutable_progress());
      }
      if (first) events_.progress();
    }
  }
  {
    absl::MutexLock lock(&mutex_);
    if (auto it = links_.find(key); it != links_.end() && it->second == link) links_.erase(it);
  }
  link->End();
  writer.join();
  return status;
}

}  // namespace sinew::agent
