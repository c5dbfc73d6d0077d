// SPDX-License-Identifier: Apache-2.0
// Records of the database to and from the model. Decoding fails (DATA_LOSS) on bytes that are no such record.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cluster/job.h"
#include "cluster/node.h"
#include "scheduler/engine/transaction.h"

namespace sinew {

std::string EncodeSpec(const Job& job);  // what never changes: spec and submitter
std::string EncodeJob(const Job& job);   // the rest
absl::StatusOr<Job> DecodeJob(JobId id, const std::string& spec, const std::string& job);

std::string EncodeNode(const Node& node);
absl::StatusOr<Node> DecodeNode(NodeId id, const std::string& bytes);

std::string EncodeLog(const JobLogRecord& record);
absl::StatusOr<JobLogRecord> DecodeLog(JobId id, const std::string& bytes);

}  // namespace sinew
