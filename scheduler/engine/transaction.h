// SPDX-License-Identifier: Apache-2.0
// What one batch of events, or one pass, changes: new versions of records, lines for the logs, answers to give once all
// of it is durable. Plain data; the store writes it in one commit, and only then does memory take it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cluster/cluster_state.h"
#include "cluster/reason.h"
#include "policies/pipeline.h"
#include "scheduler/engine/event.h"

namespace sinew {

// A line of a job's append-only log.
struct JobLogRecord {
  JobId job;
  int64_t wall_ns = 0;
  JobState state = JobState::kPending;
  uint32_t run = 0;
  Reason reason;
  std::string text;  // short and plain: "submitted", "rank 2 on n1 exited with 3"
};

// The first answer to a request id, stored with its effect.
struct RequestRecord {
  uint32_t uid = 0;
  std::string request_id;
  JobId job;
  int64_t wall_ns = 0;
};

struct CallerAnswer {
  AnswerToken token = 0;
  absl::Status status;  // domain errors: NOT_FOUND, FAILED_PRECONDITION, ...
  JobId job;
  Reason reason;        // with FAILED_PRECONDITION for a job that can never run
};

struct Transaction {
  uint64_t revision = 0;  // rises by one with each transaction that is not empty
  int64_t wall_ns = 0;
  std::vector<JobPtr> jobs;
  std::vector<NodePtr> nodes;
  std::vector<JobLogRecord> log;
  std::vector<RequestRecord> requests;
  std::vector<StageStateRecord> stage_states;
  std::vector<CallerAnswer> answers;
  std::vector<NodeId> desired_changed;  // nodes whose desired state must be told anew
  std::vector<Question> questions;
  bool plan_fell_back = false;
  std::string plan_error;

  bool NeedsCommit() const {
    return !jobs.empty() || !nodes.empty() || !log.empty() || !requests.empty() || !stage_states.empty();
  }
};

}  // namespace sinew
