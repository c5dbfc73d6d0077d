// SPDX-License-Identifier: Apache-2.0
#include "agent/log_server.h"

#include <chrono>
#include <utility>
#include <vector>

#include "agent/controller_client.h"
#include "base/clock.h"

namespace sinew::agent {
namespace {

constexpr int64_t kLookAgainNs = 100'000'000;

}  // namespace

LogServer::LogServer(std::shared_ptr<grpc::Channel> channel, std::string node, std::string session_id, Locate locate)
    : stub_(v1::AgentControl::NewStub(channel)), channel_(std::move(channel)), node_(std::move(node)),
      session_id_(std::move(session_id)), locate_(std::move(locate)) {}

LogServer::~LogServer() { Stop(); }

void LogServer::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void LogServer::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  if (thread_.joinable()) thread_.join();
}

void LogServer::Loop() {
  Backoff backoff(static_cast<uint64_t>(WallNs()) ^ 0x9e37);
  while (true) {
    const int64_t began = MonoNs();
    if (channel_->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(2))) RunStream();
    if (MonoNs() - began > 10'000'000'000) backoff.Reset();
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&stopping_), absl::Milliseconds(backoff.NextMs()));
    if (stopping_) return;
  }
}

void LogServer::RunStream() {
  grpc::ClientContext context;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    context_ = &context;
    broken_ = false;
  }
  auto rpc = stub_->Bulk(&context);
  v1::BulkUp hello;
  hello.mutable_hello()->set_node(node_);
  hello.mutable_hello()->set_session_id(session_id_);
  rpc->Write(hello);
  std::thread pump([&] { Pump(*rpc); });
  v1::BulkDown down;
  while (rpc->Read(&down)) Ask(down);
  {
    absl::MutexLock lock(&mutex_);
    broken_ = true;
    readings_.clear();
  }
  context.TryCancel();
  pump.join();
  (void)rpc->Finish();
  absl::MutexLock lock(&mutex_);
  context_ = nullptr;
}

void LogServer::Ask(const v1::BulkDown& down) {
  absl::MutexLock lock(&mutex_);
  if (down.cancel()) {
    if (auto it = readings_.find(down.request()); it != readings_.end()) it->second->cancelled = true;
    return;
  }
  auto reading = std::make_shared<Reading>();
  reading->what = down.read();
  readings_[down.request()] = std::move(reading);
}

void LogServer::Pump(Rpc& rpc) {
  while (true) {
    std::vector<std::pair<uint64_t, std::shared_ptr<Reading>>> turn;
    {
      absl::MutexLock lock(&mutex_);
      const auto some = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return broken_ || !readings_.empty(); };
      mutex_.Await(absl::Condition(&some));
      if (broken_) return;
      std::erase_if(readings_, [](const auto& entry) { return entry.second->cancelled; });
      turn.assign(readings_.begin(), readings_.end());
    }
    bool moved = false;
    for (auto& [request, reading] : turn) {
      bool over = false;
      moved |= Step(rpc, request, *reading, over);
      if (!over) continue;
      absl::MutexLock lock(&mutex_);
      if (auto it = readings_.find(request); it != readings_.end() && it->second == reading) readings_.erase(it);
    }
    if (moved) continue;
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&broken_), absl::Milliseconds(30));
  }
}

bool LogServer::Step(Rpc& rpc, uint64_t request, Reading& reading, bool& over) {
  const auto end = [&](std::string error) {
    over = true;
    Send(rpc, request, "", true, std::move(error));
    return true;
  };
  // Asked before the read: what was written before the end is then read to its end.
  LogPlace place;
  bool looked = false;
  const auto look = [&] {
    if (MonoNs() - reading.looked_ns < kLookAgainNs) return false;
    reading.looked_ns = MonoNs();
    place = locate_(KeyOf(reading.what.key()), reading.what.errors());
    looked = true;
    return true;
  };
  if (!reading.file) {
    if (!look()) return false;
    if (!place.error.empty()) return end(place.error);
    auto file = LogFile::Open(place.path, place.owner, reading.what.tail_lines());
    if (absl::IsNotFound(file.status())) return place.ended || !reading.what.follow() ? end("") : false;
    if (!file.ok()) return end(std::string(file.status().message()));
    reading.file = *std::move(file);
  } else if (reading.what.follow()) {
    look();
  }
  auto data = reading.file->Read(kChunk);
  if (!data.ok()) return end(std::string(data.status().message()));
  if (!data->empty()) {
    if (!Send(rpc, request, *std::move(data), false)) over = true;
    return true;
  }
  if (!reading.what.follow()) return end("");
  if (looked && (place.ended || !place.error.empty())) return end("");
  return false;
}

bool LogServer::Send(Rpc& rpc, uint64_t request, std::string data, bool end, std::string error) {
  v1::BulkUp up;
  up.mutable_data()->set_request(request);
  up.mutable_data()->set_data(std::move(data));
  up.mutable_data()->set_end(end);
  up.mutable_data()->set_error(std::move(error));
  return rpc.Write(up);
}

}  // namespace sinew::agent
