// SPDX-License-Identifier: Apache-2.0
// A worker's side of the task runtime (proto/sinew/v1/runtime.proto): rendezvous, progress, and what it is told.
//
// A worker trains on whatever becomes of the agent: the stream is opened again as long as the object lives, what could
// not be said is dropped but for the newest progress, and a rendezvous that was not answered is said anew.
//
// Threads: calls from any, none waits for the agent but Meet and, for at most a second, the destructor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "proto/sinew/v1/runtime.grpc.pb.h"

namespace sinew::trainer {

struct RuntimeOptions {
  std::string socket;  // path of the agent's unix socket
  std::string token;
  uint64_t job = 0;
  uint32_t run = 0;
  int rank = 0;
  absl::Duration progress_every = absl::Milliseconds(500);
  absl::Duration retry = absl::Milliseconds(300);
  absl::Duration refusal = absl::Seconds(10);
};

class RuntimeClient {
 public:
  explicit RuntimeClient(RuntimeOptions options);
  // Says the newest progress first.
  ~RuntimeClient();

  // What all ranks set, once all have. DEADLINE_EXCEEDED after `patience`; the agent's own error when it refused this
  // process for longer than `refusal` (one that was restarted may not yet know its tasks).
  absl::StatusOr<std::map<std::string, std::string>> Meet(std::map<std::string, std::string> mine,
                                                          absl::Duration patience);

  // Said at most once in `progress_every`; the newest wins.
  void Report(const v1::Progress& progress);

  // The agent asked this worker to write a checkpoint and leave.
  bool stop_asked() const;
  // The agent asked for a checkpoint since the last call.
  bool TakeCheckpointAsked();

 private:
  void Loop();
  // One stream, until it ends.
  void Talk();
  void Hear(const v1::RuntimeMessage& message);

  const RuntimeOptions options_;
  std::unique_ptr<v1::TaskRuntime::Stub> stub_;

  mutable absl::Mutex mutex_;
  absl::optional<v1::SetValues> mine_ ABSL_GUARDED_BY(mutex_);
  bool said_ ABSL_GUARDED_BY(mutex_) = false;  // on the stream of now
  absl::optional<std::map<std::string, std::string>> peers_ ABSL_GUARDED_BY(mutex_);
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);  // by the last stream; OK after a stream that was heard on
  absl::Time refused_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  absl::optional<v1::Progress> progress_ ABSL_GUARDED_BY(mutex_);
  absl::Time progress_due_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool stop_asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool checkpoint_asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // the stream of now has ended
  bool over_ ABSL_GUARDED_BY(mutex_) = false;    // the thread has nothing more to do
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;

  std::thread thread_;
};

}  // namespace sinew::trainer
