// SPDX-License-Identifier: Apache-2.0
// From what went wrong to what a script sees. Errors are absl::Status all the way; details that the daemon attached
// travel as a payload. Pure; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace sinew::cli {

enum ExitCode {
  kDone = 0,
  kNegative = 1,        // the job did not complete; and errors that have no code of their own
  kUsage = 2,           // also a job that does not make sense
  kNotFound = 3,        // or not the caller's
  kNotAllowed = 4,
  kConflict = 5,
  kNeverSatisfiable = 6,
  kTimedOut = 7,        // `wait`
  kUnreachable = 8,
  kLimited = 9,
  kFollowFailed = 125,  // `run`: the job was accepted, following it failed
  kInterrupted = 130,
};

// Payload of a status: a serialized google.rpc.Status.
inline constexpr char kDetailsUrl[] = "type.googleapis.com/google.rpc.Status";

struct ErrorDetails {
  std::string reason;  // of ErrorInfo
  std::vector<std::pair<std::string, std::string>> fields;  // field path, description
};
ErrorDetails DetailsOf(const absl::Status& status);

int ExitCodeOf(const absl::Status& status);

// One line: "what: why; what next", without control characters. Field violations are named unless the message does.
std::string ErrorLine(const absl::Status& status);

// {"apiVersion":"v1","error":{...}}, one line.
std::string ErrorJson(const absl::Status& status);

}  // namespace sinew::cli
