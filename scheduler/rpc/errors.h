// SPDX-License-Identifier: Apache-2.0
// Errors on the wire: the canonical code, one line, and google.rpc details (ErrorInfo with a stable reason, field
// violations) in the trailing metadata.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/sinew/v1/job.pb.h"
#include "spec/validate.h"

namespace sinew {

grpc::Status ToGrpc(const absl::Status& status, const std::string& reason = "");
grpc::Status InvalidFields(const std::vector<Violation>& violations);
// FAILED_PRECONDITION with reason NEVER_SATISFIABLE and its numbers.
grpc::Status NeverSatisfiable(const v1::Reason& reason);

}  // namespace sinew
