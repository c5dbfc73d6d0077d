// SPDX-License-Identifier: Apache-2.0
#include "trainer/worker/settings.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "spec/defaults.h"
#include "spec/validate.h"

namespace sinew::trainer {
namespace {

using Get = std::function<const char*(const char*)>;

std::string Text(const Get& get, const char* name, const std::string& otherwise = "") {
  const char* value = get(name);
  return value == nullptr ? otherwise : value;
}

absl::StatusOr<int64_t> Number(const Get& get, const char* name, int64_t otherwise, int64_t low, int64_t high) {
  const char* value = get(name);
  if (value == nullptr || *value == '\0') return otherwise;
  int64_t number = 0;
  if (!absl::SimpleAtoi(value, &number) || number < low || number > high) {
    return absl::InvalidArgumentError(std::string(name) + "=" + value + " is no number from " + std::to_string(low) +
                                      " to " + std::to_string(high));
  }
  return number;
}

}  // namespace

absl::StatusOr<Settings> SettingsFrom(const Get& get) {
  Settings s;
  const std::string json = Text(get, "SINEW_TRAIN_SPEC");
  if (json.empty()) {
    return absl::InvalidArgumentError(
        "SINEW_TRAIN_SPEC is not set: sinew-trainer is started by an agent, for jobs of kind train (sinew run job.yaml)");
  }
  if (const auto parsed = google::protobuf::util::JsonStringToMessage(json, &s.train); !parsed.ok()) {
    return absl::InvalidArgumentError("SINEW_TRAIN_SPEC cannot be read: " + std::string(parsed.message()));
  }
  ASSIGN_OR_RETURN(s.workers, Number(get, "WORLD_SIZE", 1, 1, kMaxWorkers));
  ASSIGN_OR_RETURN(s.rank, Number(get, "RANK", 0, 0, s.workers - 1));
  ASSIGN_OR_RETURN(s.job, Number(get, "SINEW_JOB_ID", 0, 0, INT64_MAX));
  ASSIGN_OR_RETURN(s.run, Number(get, "SINEW_RUN", 1, 0, UINT32_MAX));
  ASSIGN_OR_RETURN(s.master_port, Number(get, "MASTER_PORT", 0, 0, 65535));
  s.runtime_socket = Text(get, "SINEW_RUNTIME_SOCKET");
  s.token = Text(get, "SINEW_TASK_TOKEN");
  s.address = Text(get, "SINEW_NODE_ADDRESS");
  if (s.address.empty()) s.address = "127.0.0.1";
  s.master_address = Text(get, "MASTER_ADDR", "127.0.0.1");
  s.checkpoint_dir = Text(get, "SINEW_CHECKPOINT_DIR");
  s.resume_from = Text(get, "SINEW_RESUME_FROM");
  if (s.runtime_socket.empty() && s.workers > 1 && s.master_port == 0) {
    return absl::InvalidArgumentError("WORLD_SIZE is " + std::to_string(s.workers) +
                                      ", but neither SINEW_RUNTIME_SOCKET nor MASTER_PORT says where to meet");
  }
  // The daemon checked all this; who starts a worker by hand gets the same answers.
  v1::JobSpec job;
  job.set_kind(v1::TRAIN);
  job.set_workdir("/");
  job.mutable_workers()->set_min(s.workers);
  job.mutable_workers()->set_max(s.workers);
  *job.mutable_train() = s.train;
  ApplyDefaults(job);
  for (const Violation& violation : Validate(job)) {
    return absl::InvalidArgumentError("SINEW_TRAIN_SPEC: " + violation.field + " " + violation.message);
  }
  s.train = job.train();
  return s;
}

}  // namespace sinew::trainer
