// SPDX-License-Identifier: Apache-2.0
// One function for each verb. What they find goes to stdout; the exit status is returned, or the error that main prints.
#pragma once

#include "absl/status/statusor.h"
#include "cli/options.h"

namespace sinew::cli {

void Print(const std::string& text);
View ViewOf(const Options& options);

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
absl::StatusOr<int> WhoAmI(const Options& options);

// admin.cc
absl::StatusOr<int> AdminBackup(const Options& options);
absl::StatusOr<int> AdminCheck(const Options& options);
absl::StatusOr<int> AdminRestore(const Options& options);

// operate.cc
absl::StatusOr<int> Hold(const Options& options);
absl::StatusOr<int> Release(const Options& options);
absl::StatusOr<int> Requeue(const Options& options);
absl::StatusOr<int> NodeCordon(const Options& options);
absl::StatusOr<int> NodeDrain(const Options& options);
absl::StatusOr<int> NodeResume(const Options& options);

}  // namespace sinew::cli
