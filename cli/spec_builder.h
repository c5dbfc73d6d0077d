// SPDX-License-Identifier: Apache-2.0
// The job that a command line asks for.
#pragma once

#include "absl/status/statusor.h"
#include "cli/options.h"
#include "proto/sinew/v1/spec.pb.h"

namespace sinew::cli {

// From the file (or stdin, or the words after "--"), --set and flags, with the working folder filled in. Everything that
// can be checked without the daemon is checked, with the defaults in mind; the defaults are filled in when
// `with_defaults`. INVALID_ARGUMENT with the place in the file.
absl::StatusOr<v1::JobSpec> BuildSpec(const Options& options, bool with_defaults);

}  // namespace sinew::cli
