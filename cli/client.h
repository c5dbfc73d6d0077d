// SPDX-License-Identifier: Apache-2.0
// The daemon over its unix socket. Every method may be called from any thread. Errors carry the daemon's code, message
// and details (exit_code.h); a socket that cannot be opened is UNAVAILABLE or PERMISSION_DENIED with the way out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/sinew/v1/admin.pb.h"
#include "proto/sinew/v1/job.pb.h"
#include "proto/sinew/v1/node.pb.h"

namespace sinew::cli {

// Whether somebody listens there, by a plain connect(2).
absl::Status ProbeSocket(const std::string& socket);

class Client {
 public:
  explicit Client(std::string socket);
  ~Client();

  const std::string& socket() const { return socket_; }

  // Calls that change something carry a request id of their own and are repeated with it for about 10 s when the
  // connection broke half-way, so that they happen once.
  absl::StatusOr<v1::Job> Submit(const v1::JobSpec& spec, bool validate_only);
  absl::StatusOr<v1::Job> Cancel(const std::string& name);
  absl::StatusOr<v1::Job> Hold(const std::string& name);
  absl::StatusOr<v1::Job> Release(const std::string& name);
  absl::StatusOr<v1::Job> Requeue(const std::string& name, bool hold);
  absl::StatusOr<v1::Node> Cordon(const std::string& name, const std::string& reason);
  absl::StatusOr<v1::Node> Drain(const v1::DrainNodeRequest& request);
  absl::StatusOr<v1::Node> Resume(const std::string& name);

  absl::StatusOr<v1::Job> GetJob(const std::string& name);
  absl::StatusOr<v1::ListJobsResponse> ListJobs(bool all_users, bool include_ended);        // every page
  absl::StatusOr<v1::ListJobEventsResponse> ListJobEvents(const std::string& name);         // every page
  absl::StatusOr<v1::ExplainJobResponse> Explain(const std::string& name);
  absl::StatusOr<v1::Node> GetNode(const std::string& name);
  absl::StatusOr<v1::ListNodesResponse> ListNodes();                                        // every page
  absl::StatusOr<v1::GetVersionResponse> GetVersion();

  // Until the job ended, `take` returned false (then OK), `timeout_ns` passed (DEADLINE_EXCEEDED; 0 = none) or the
  // connection broke.
  absl::Status Watch(const std::string& name, int64_t timeout_ns, const std::function<bool(const v1::Job&)>& take);
  absl::Status Backup(const std::function<bool(const v1::BackupChunk&)>& take);
  absl::Status ReadLogs(const v1::ReadLogsRequest& request, const std::function<bool(const v1::LogChunk&)>& take);

 private:
  struct Stubs;
  std::string socket_;
  std::unique_ptr<Stubs> stubs_;
};

}  // namespace sinew::cli
