// SPDX-License-Identifier: Apache-2.0
#include "scheduler/agents/log_relay.h"

#include <thread>
#include <utility>

namespace sinew {

struct LogRelay::Reading::Queue {
  absl::Mutex mutex;
  std::deque<Chunk> chunks ABSL_GUARDED_BY(mutex);
  size_t bytes ABSL_GUARDED_BY(mutex) = 0;
  bool abandoned ABSL_GUARDED_BY(mutex) = false;

  void Put(Chunk chunk) {
    absl::MutexLock lock(&mutex);
    const auto room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return abandoned || bytes < kMaxQueuedBytes; };
    if (!mutex.AwaitWithTimeout(absl::Condition(&room), kPatience)) {
      chunks.clear();
      bytes = 0;
      chunk = {"", true, "the reader was too slow and was cut off"};
    }
    if (abandoned) return;
    bytes += chunk.data.size();
    chunks.push_back(std::move(chunk));
  }
};

struct LogRelay::Agent {
  std::string session;
  grpc::ServerContext* context = nullptr;
  absl::Mutex mutex;
  std::deque<v1::BulkDown> down ABSL_GUARDED_BY(mutex);
  bool closed ABSL_GUARDED_BY(mutex) = false;
  std::map<uint64_t, std::shared_ptr<Reading::Queue>> readings ABSL_GUARDED_BY(mutex);

  void Push(v1::BulkDown message) {
    absl::MutexLock lock(&mutex);
    if (!closed) down.push_back(std::move(message));
  }
  void Close() {
    std::map<uint64_t, std::shared_ptr<Reading::Queue>> left;
    {
      absl::MutexLock lock(&mutex);
      closed = true;
      left.swap(readings);
    }
    for (auto& [id, queue] : left) queue->Put({"", true, "the agent went away"});
  }
};

LogRelay::Reading::~Reading() {
  {
    absl::MutexLock lock(&queue_->mutex);
    queue_->abandoned = true;
  }
  relay_->Finish(node_, request_);
}

bool LogRelay::Reading::Next(Chunk& chunk, absl::Duration patience) {
  absl::MutexLock lock(&queue_->mutex);
  Queue& q = *queue_;
  const auto some = [&q]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !q.chunks.empty(); };
  if (!q.mutex.AwaitWithTimeout(absl::Condition(&some), patience)) return false;
  chunk = std::move(q.chunks.front());
  q.chunks.pop_front();
  q.bytes -= chunk.data.size();
  return true;
}

absl::StatusOr<std::unique_ptr<LogRelay::Reading>> LogRelay::Read(const std::string& node, const v1::ReadLog& what) {
  std::shared_ptr<Agent> agent;
  auto reading = std::make_unique<Reading>();
  reading->queue_ = std::make_shared<Reading::Queue>();
  reading->relay_ = this;
  reading->node_ = node;
  {
    absl::MutexLock lock(&mutex_);
    if (auto it = agents_.find(node); it != agents_.end()) agent = it->second;
    reading->request_ = ++last_request_;
  }
  if (!agent) {
    return absl::UnavailableError("the agent of node " + node + ", which keeps this log, is not connected");
  }
  {
    absl::MutexLock lock(&agent->mutex);
    agent->readings[reading->request_] = reading->queue_;
  }
  v1::BulkDown down;
  down.set_request(reading->request_);
  *down.mutable_read() = what;
  agent->Push(std::move(down));
  return reading;
}

void LogRelay::Finish(const std::string& node, uint64_t request) {
  std::shared_ptr<Agent> agent;
  {
    absl::MutexLock lock(&mutex_);
    if (auto it = agents_.find(node); it != agents_.end()) agent = it->second;
  }
  if (!agent) return;
  {
    absl::MutexLock lock(&agent->mutex);
    if (agent->readings.erase(request) == 0) return;  // it had ended
  }
  v1::BulkDown down;
  down.set_request(request);
  down.set_cancel(true);
  agent->Push(std::move(down));
}

grpc::Status LogRelay::Serve(grpc::ServerContext* context, grpc::ServerReaderWriter<v1::BulkDown, v1::BulkUp>* stream) {
  v1::BulkUp up;
  if (!stream->Read(&up) || !up.has_hello()) return {grpc::StatusCode::INVALID_ARGUMENT, "the first message must be hello"};
  auto agent = std::make_shared<Agent>();
  agent->session = up.hello().session_id();
  agent->context = context;
  const std::string node = up.hello().node();
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return {grpc::StatusCode::UNAVAILABLE, "the daemon is stopping"};
    if (auto& slot = agents_[node]) slot->context->TryCancel();
    agents_[node] = agent;
  }
  std::thread writer([&] {
    while (true) {
      v1::BulkDown down;
      {
        absl::MutexLock lock(&agent->mutex);
        Agent& a = *agent;
        const auto ready = [&a]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return a.closed || !a.down.empty(); };
        a.mutex.Await(absl::Condition(&ready));
        if (a.closed) return;
        down = std::move(a.down.front());
        a.down.pop_front();
      }
      if (!stream->Write(down)) return;
    }
  });
  while (stream->Read(&up)) {
    if (!up.has_data()) continue;
    std::shared_ptr<Reading::Queue> queue;
    {
      absl::MutexLock lock(&agent->mutex);
      auto it = agent->readings.find(up.data().request());
      if (it == agent->readings.end()) continue;
      queue = it->second;
      if (up.data().end()) agent->readings.erase(it);
    }
    queue->Put({std::move(*up.mutable_data()->mutable_data()), up.data().end(), up.data().error()});
  }
  {
    absl::MutexLock lock(&mutex_);
    if (auto it = agents_.find(node); it != agents_.end() && it->second == agent) agents_.erase(it);
  }
  agent->Close();
  writer.join();
  return grpc::Status::OK;
}

void LogRelay::Shutdown() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  for (auto& [node, agent] : agents_) agent->context->TryCancel();
}

}  // namespace sinew
