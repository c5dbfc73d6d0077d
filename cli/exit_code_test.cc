// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace sinew::cli {
namespace {

absl::Status With(absl::Status status, const std::string& reason,
                  const std::vector<std::pair<std::string, std::string>>& fields = {}) {
  google::rpc::Status wire;
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  wire.add_details()->PackFrom(info);
  google::rpc::BadRequest bad;
  for (const auto& [field, description] : fields) {
    auto& violation = *bad.add_field_violations();
    violation.set_field(field);
    violation.set_description(description);
  }
  wire.add_details()->PackFrom(bad);
  status.SetPayload(kDetailsUrl, absl::Cord(wire.SerializeAsString()));
  return status;
}

TEST(ExitCode, EachKindOfErrorHasItsOwn) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("x")), 1);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("x")), 2);
  EXPECT_EQ(ExitCodeOf(absl::OutOfRangeError("x")), 2);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("x")), 3);
  EXPECT_EQ(ExitCodeOf(absl::PermissionDeniedError("x")), 4);
  EXPECT_EQ(ExitCodeOf(absl::UnauthenticatedError("x")), 4);
  EXPECT_EQ(ExitCodeOf(absl::AbortedError("x")), 5);
  EXPECT_EQ(ExitCodeOf(absl::AlreadyExistsError("x")), 5);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("x")), 5);
  EXPECT_EQ(ExitCodeOf(With(absl::FailedPreconditionError("x"), "NEVER_SATISFIABLE")), 6);
  EXPECT_EQ(ExitCodeOf(With(absl::FailedPreconditionError("x"), "OTHER")), 5);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("x")), 7);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("x")), 8);
  EXPECT_EQ(ExitCodeOf(absl::ResourceExhaustedError("x")), 9);
  EXPECT_EQ(ExitCodeOf(absl::CancelledError("x")), 130);
}

TEST(ErrorLine, IsOneLineAndNamesEachFieldOnce) {
  EXPECT_EQ(ErrorLine(absl::NotFoundError("job 7\nis \x1b[31mnot there")), "job 7\\nis \\x1b[31mnot there");
  EXPECT_EQ(ErrorLine(With(absl::InvalidArgumentError("bad job"), "", {{"epochs", "is 0"}, {"name", "is long"}})),
            "bad job; epochs: is 0; name: is long");
  EXPECT_EQ(ErrorLine(With(absl::InvalidArgumentError("epochs: is 0"), "", {{"epochs", "is 0"}})), "epochs: is 0");
  EXPECT_EQ(ErrorLine(absl::Status(absl::StatusCode::kAborted, "")), "ABORTED");
}

TEST(ErrorJson, CarriesCodeReasonAndFields) {
  const auto json = nlohmann::json::parse(
      ErrorJson(With(absl::FailedPreconditionError("too \"big\""), "NEVER_SATISFIABLE", {{"resources.cpus", "900"}})));
  EXPECT_EQ(json["apiVersion"], "v1");
  EXPECT_EQ(json["error"]["code"], "FAILED_PRECONDITION");
  EXPECT_EQ(json["error"]["reason"], "NEVER_SATISFIABLE");
  EXPECT_EQ(json["error"]["exitCode"], 6);
  EXPECT_EQ(json["error"]["message"], "too \"big\"; resources.cpus: 900");
  EXPECT_EQ(json["error"]["fieldViolations"][0]["field"], "resources.cpus");
}

}  // namespace
}  // namespace sinew::cli
