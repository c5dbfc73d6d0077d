// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace sinew::cli {

ErrorDetails DetailsOf(const absl::Status& status) {
  ErrorDetails out;
  const auto payload = status.GetPayload(kDetailsUrl);
  google::rpc::Status wire;
  if (!payload || !wire.ParseFromString(std::string(*payload))) return out;
  for (const auto& any : wire.details()) {
    google::rpc::BadRequest bad;
    google::rpc::ErrorInfo info;
    if (any.Is<google::rpc::BadRequest>() && any.UnpackTo(&bad)) {
      for (const auto& v : bad.field_violations()) out.fields.emplace_back(v.field(), v.description());
    } else if (any.Is<google::rpc::ErrorInfo>() && any.UnpackTo(&info)) {
      out.reason = info.reason();
    }
  }
  return out;
}

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return kUsage;
    case absl::StatusCode::kNotFound:
      return kNotFound;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kNotAllowed;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
      return DetailsOf(status).reason == "NEVER_SATISFIABLE" ? kNeverSatisfiable : kConflict;
    case absl::StatusCode::kDeadlineExceeded:
      return kTimedOut;
    case absl::StatusCode::kUnavailable:
      return kUnreachable;
    case absl::StatusCode::kResourceExhausted:
      return kLimited;
    case absl::StatusCode::kCancelled:
      return kInterrupted;
    default:
      return kNegative;
  }
}

std::string ErrorLine(const absl::Status& status) {
  std::string line(status.message());
  for (const auto& [field, description] : DetailsOf(status).fields) {
    if (line.find(field) != std::string::npos && line.find(description) != std::string::npos) continue;
    line += "; " + field + ": " + description;
  }
  if (line.empty()) line = absl::StatusCodeToString(status.code());
  return EscapeControl(line);
}

std::string ErrorJson(const absl::Status& status) {
  const ErrorDetails details = DetailsOf(status);
  nlohmann::ordered_json error;
  error["code"] = absl::StatusCodeToString(status.code());
  if (!details.reason.empty()) error["reason"] = details.reason;
  error["message"] = ErrorLine(status);
  error["exitCode"] = ExitCodeOf(status);
  for (const auto& [field, description] : details.fields) {
    error["fieldViolations"].push_back({{"field", field}, {"description", description}});
  }
  nlohmann::ordered_json out;
  out["apiVersion"] = "v1";
  out["error"] = error;
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace sinew::cli
