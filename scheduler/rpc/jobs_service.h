// SPDX-License-Identifier: Apache-2.0
// The Jobs service: who asks is known from the connection; a user sees and changes only their own jobs, operators (root
// and the daemon's own user) all. A job of somebody else does not exist for those who may not see it.
//
// Threads: gRPC's, one for each call; streams hold one until they end, at most kMaxStreams of them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "proto/sinew/v1/job.grpc.pb.h"
#include "scheduler/agents/log_relay.h"
#include "scheduler/agents/progress_board.h"
#include "scheduler/controller.h"
#include "scheduler/rpc/change_feed.h"
#include "scheduler/rpc/identity.h"

namespace sinew {

class JobsService final : public v1::Jobs::Service {
 public:
  static constexpr int kMaxStreams = 256;
  static constexpr int kMaxPage = 1000;

  JobsService(Controller& controller, ProgressBoard& progress, LogRelay& logs, ChangeFeed& changes,
              const Identity& identity)
      : controller_(controller), progress_(progress), logs_(logs), changes_(changes), identity_(identity) {}

  grpc::Status SubmitJob(grpc::ServerContext*, const v1::SubmitJobRequest*, v1::SubmitJobResponse*) override;
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest*, v1::Job*) override;
  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest*, v1::ListJobsResponse*) override;
  grpc::Status CancelJob(grpc::ServerContext*, const v1::CancelJobRequest*, v1::Job*) override;
  grpc::Status HoldJob(grpc::ServerContext*, const v1::HoldJobRequest*, v1::Job*) override;
  grpc::Status ReleaseJob(grpc::ServerContext*, const v1::ReleaseJobRequest*, v1::Job*) override;
  grpc::Status RequeueJob(grpc::ServerContext*, const v1::RequeueJobRequest*, v1::Job*) override;
  grpc::Status ExplainJob(grpc::ServerContext*, const v1::ExplainJobRequest*, v1::ExplainJobResponse*) override;
  grpc::Status ListJobEvents(grpc::ServerContext*, const v1::ListJobEventsRequest*, v1::ListJobEventsResponse*) override;
  grpc::Status WatchJob(grpc::ServerContext*, const v1::WatchJobRequest*, grpc::ServerWriter<v1::Job>*) override;
  grpc::Status ReadLogs(grpc::ServerContext*, const v1::ReadLogsRequest*, grpc::ServerWriter<v1::LogChunk>*) override;

 private:
  // The job, when the caller may see it; NOT_FOUND in the same words for both other cases.
  absl::StatusOr<Job> Find(const User& user, const std::string& name);
  v1::Job Show(const Job& job);
  // An event about the job that a request names, as the caller's; answers with the job as it then is.
  template <typename Request, typename ControlEvent>
  grpc::Status Change(grpc::ServerContext* context, const Request& request, ControlEvent event, v1::Job* response);
  std::string NameOf(NodeId id) const;

  Controller& controller_;
  ProgressBoard& progress_;
  LogRelay& logs_;
  ChangeFeed& changes_;
  const Identity& identity_;
  std::atomic<int> streams_{0};
};

}  // namespace sinew
