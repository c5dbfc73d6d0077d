// SPDX-License-Identifier: Apache-2.0
// What a worker is told, all by its environment. Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "proto/sinew/v1/spec.pb.h"

namespace sinew::trainer {

struct Settings {
  v1::TrainSpec train;         // SINEW_TRAIN_SPEC: protobuf JSON; with the defaults filled in
  int rank = 0;                // RANK
  int workers = 1;             // WORLD_SIZE
  uint64_t job = 0;            // SINEW_JOB_ID
  uint32_t run = 1;            // SINEW_RUN
  std::string runtime_socket;  // SINEW_RUNTIME_SOCKET; "" = started without Sinew
  std::string token;           // SINEW_TASK_TOKEN
  std::string address;         // SINEW_NODE_ADDRESS: where the others reach this worker
  std::string master_address;  // MASTER_ADDR, MASTER_PORT: only without the runtime
  int master_port = 0;
  std::string checkpoint_dir;  // SINEW_CHECKPOINT_DIR; "" = none are written
  std::string resume_from;     // SINEW_RESUME_FROM; "" = from the start
};

// `get` is getenv, or a test's. INVALID_ARGUMENT names the variable or the field, and what is wrong.
absl::StatusOr<Settings> SettingsFrom(const std::function<const char*(const char*)>& get);

}  // namespace sinew::trainer
