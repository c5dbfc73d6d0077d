// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rpc/errors.h"

#include "spec/reason_text.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace sinew {
namespace {

constexpr char kDomain[] = "sinew";

grpc::Status WithDetails(grpc::StatusCode code, const std::string& message, const std::string& reason,
                         const google::rpc::BadRequest* bad, const std::map<std::string, std::string>& metadata = {}) {
  google::rpc::Status details;
  details.set_code(code);
  details.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(kDomain);
  for (const auto& [key, value] : metadata) (*info.mutable_metadata())[key] = value;
  details.add_details()->PackFrom(info);
  if (bad) details.add_details()->PackFrom(*bad);
  return {code, message, details.SerializeAsString()};
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status, const std::string& reason) {
  if (status.ok()) return grpc::Status::OK;
  const std::string name = absl::StatusCodeToString(status.code());
  return WithDetails(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
                     reason.empty() ? name : reason, nullptr);
}

grpc::Status InvalidFields(const std::vector<Violation>& violations) {
  google::rpc::BadRequest bad;
  std::string message;
  for (const Violation& v : violations) {
    auto* field = bad.add_field_violations();
    field->set_field(v.field);
    field->set_description(v.message);
    if (message.size() < 2000) message += (message.empty() ? "" : "; ") + v.field + ": " + v.message;
  }
  return WithDetails(grpc::StatusCode::INVALID_ARGUMENT, message, "INVALID_SPEC", &bad);
}

grpc::Status NeverSatisfiable(const v1::Reason& reason) {
  return WithDetails(grpc::StatusCode::FAILED_PRECONDITION,
                     "this job could never run here: " + ReasonText(reason) + "; " + ReasonHint(reason),
                     "NEVER_SATISFIABLE", nullptr,
                     {{"needed", std::to_string(reason.needed())},
                      {"best_node", std::to_string(reason.best_node_free())},
                      {"total", std::to_string(reason.total_free())},
                      {"device_type", reason.device_type()}});
}

}  // namespace sinew
