// SPDX-License-Identifier: Apache-2.0
// job.yaml to JobSpec and back. Reading is strict: errors name file, line, column, key path, the value and what is
// accepted. Values are read in the order given, so that later ones (--set) replace earlier ones.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/sinew/v1/spec.pb.h"

namespace sinew {

struct JobFile {
  v1::JobSpec spec;
  std::map<std::string, std::string> places;  // key path -> "file:line:column" of its value
  std::string name;                           // of the file

  // "file:line:column: field: message", with the place of the field or of the nearest key above it.
  std::string At(const std::string& field, const std::string& message) const;
};

// INVALID_ARGUMENT with one line. Defaults are not applied and ranges across keys not checked: see validate.h. A train
// job resumes from its own checkpoints unless it says otherwise.
absl::StatusOr<JobFile> ParseJobFile(const std::string& text, const std::string& file);

// Sets key path "algorithm.tau" to a value written as in a file. Errors begin with `label` instead of a place.
absl::Status SetKey(JobFile& file, const std::string& path, const std::string& value, const std::string& label);

// A file that ParseJobFile reads as this spec.
std::string FormatJobFile(const v1::JobSpec& spec);

}  // namespace sinew
