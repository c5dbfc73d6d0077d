// SPDX-License-Identifier: Apache-2.0
// One function for each verb. What they find goes to stdout; the exit status is returned, or the error that main prints.
#pragma once

#include "absl/status/statusor.h"
#include "cli/options.h"

namespace sinew::cli {

absl::StatusOr<int> Submit(const Options& options);
absl::StatusOr<int> Run(const Options& options);
absl::StatusOr<int> Jobs(const Options& options);
absl::StatusOr<int> JobShow(const Options& options);
absl::StatusOr<int> Explain(const Options& options);
absl::StatusOr<int> Logs(const Options& options);
absl::StatusOr<int> Cancel(const Options& options);
absl::StatusOr<int> Wait(const Options& options);
absl::StatusOr<int> Nodes(const Options& options);
absl::StatusOr<int> NodeShow(const Options& options);
absl::StatusOr<int> Version(const Options& options);

}  // namespace sinew::cli
