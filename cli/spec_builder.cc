// SPDX-License-Identifier: Apache-2.0
#include "cli/spec_builder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "base/status_macros.h"
#include "base/yaml.h"
#include "spec/defaults.h"
#include "spec/job_file.h"
#include "spec/validate.h"

namespace sinew::cli {
namespace {

absl::StatusOr<std::string> WorkingFolder() {
  char buffer[PATH_MAX];
  if (::getcwd(buffer, sizeof(buffer)) == nullptr) {
    return absl::InvalidArgumentError(std::string("the working folder cannot be told: ") + std::strerror(errno) +
                                      "; change to another one, or say workdir");
  }
  return std::string(buffer);
}

absl::StatusOr<JobFile> Read(const Options& options) {
  if (!options.command.empty()) {
    JobFile job;
    job.spec.set_kind(v1::COMMAND);
    job.spec.mutable_command()->mutable_argv()->Assign(options.command.begin(), options.command.end());
    return job;
  }
  const bool stdin_file = options.file == "-";
  auto text = ReadFile(stdin_file ? "/dev/stdin" : options.file, yaml::kMaxBytes + 1);
  if (!text.ok() && text.status().code() == absl::StatusCode::kResourceExhausted) {
    return absl::InvalidArgumentError(options.file + ": larger than 256 KiB, the limit of a job file");
  }
  if (!text.ok()) return absl::InvalidArgumentError("cannot read the job file: " + std::string(text.status().message()));
  return ParseJobFile(*text, stdin_file ? "stdin" : options.file);
}

absl::Status Overlay(const Options& options, JobFile& job) {
  for (const auto& [flag, set] : options.flags) RETURN_IF_ERROR(SetKey(job, set.first, set.second, flag));
  for (const std::string& set : options.sets) {
    const size_t equals = set.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError("--set " + set + ": has no =; write --set algorithm.tau=4");
    }
    RETURN_IF_ERROR(SetKey(job, set.substr(0, equals), set.substr(equals + 1), "--set"));
  }
  for (const std::string& entry : options.exports) {
    const size_t equals = entry.find('=');
    if (equals != std::string::npos) {
      (*job.spec.mutable_env())[entry.substr(0, equals)] = entry.substr(equals + 1);
      continue;
    }
    const char* value = std::getenv(entry.c_str());
    if (value == nullptr) {
      return absl::InvalidArgumentError("--export " + entry + ": there is no such variable here; give it a value with --export " +
                                        entry + "=VALUE");
    }
    (*job.spec.mutable_env())[entry] = value;
  }
  return absl::OkStatus();
}

// What a folder or file of the job lacks on this machine; "" when nothing.
std::string Missing(const std::string& path, bool folder) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return path + (errno == ENOENT ? " does not exist" : std::string(" cannot be reached: ") + std::strerror(errno));
  }
  return folder && !S_ISDIR(info.st_mode) ? path + " is not a folder" : "";
}

}  // namespace

absl::StatusOr<v1::JobSpec> BuildSpec(const Options& options, bool with_defaults) {
  if (options.command.empty() == options.file.empty()) {
    return absl::InvalidArgumentError(options.file.empty() ? "nothing to run: give a job file, - for stdin, or -- and a command"
                                                           : "both a job file and a command after --; give one of them");
  }
  ASSIGN_OR_RETURN(JobFile job, Read(options));
  RETURN_IF_ERROR(Overlay(options, job));
  if (job.spec.workdir().empty() || job.spec.workdir()[0] != '/') {
    ASSIGN_OR_RETURN(const std::string here, WorkingFolder());
    job.spec.set_workdir(job.spec.workdir().empty() ? here : here + "/" + job.spec.workdir());
  }
  v1::JobSpec whole = job.spec;
  ApplyDefaults(whole);
  if (const auto violations = Validate(whole); !violations.empty()) {
    std::string message = job.At(violations[0].field, violations[0].message);
    for (size_t i = 1; i < violations.size(); ++i) message += "; " + violations[i].field + ": " + violations[i].message;
    return absl::InvalidArgumentError(message);
  }
  if (options.check_paths) {
    const std::string next = "; if the nodes have it and this machine does not, add --no-check-paths";
    if (const std::string why = Missing(whole.workdir(), true); !why.empty()) {
      return absl::InvalidArgumentError(job.At("workdir", why + next));
    }
    if (whole.kind() == v1::TRAIN) {
      if (const std::string why = Missing(whole.train().data().path(), true); !why.empty()) {
        return absl::InvalidArgumentError(job.At("data.path", why + next));
      }
    }
  }
  return with_defaults ? whole : job.spec;
}

}  // namespace sinew::cli
