// SPDX-License-Identifier: Apache-2.0
// Messages as text for people. Pure: the time comes in, so that tests can hold the output. Every text ends in a newline.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/sinew/v1/job.pb.h"
#include "proto/sinew/v1/node.pb.h"

namespace sinew::cli {

enum class Format { kTable, kWide, kJson, kYaml, kName };

struct View {
  Format format = Format::kTable;
  int64_t now_ns = 0;   // wall clock
  size_t width = 0;     // of the terminal; 0 = not a terminal, nothing is cut
};

int64_t ToNs(const google::protobuf::Timestamp& time);

// In JSON and YAML: the message itself.
std::string JobList(const v1::ListJobsResponse& jobs, const View& view);
std::string NodeList(const v1::ListNodesResponse& nodes, const View& view);
std::string JobPage(const v1::Job& job, const v1::ListJobEventsResponse& events, const View& view);
std::string NodePage(const v1::Node& node, const View& view);
std::string ExplainPage(const v1::ExplainJobResponse& explained, const View& view);

// "step 340/1406 (24%), epoch 0.72/3, loss 0.4123, 3210 images/s, accuracy 0.8512"; "" when there is none.
std::string ProgressText(const v1::Progress& progress);

// How a job ended, as `sinew run` says it: state and time, then accuracy, energy, checkpoint; or the reason and the
// last lines of the log.
std::string EndText(const v1::Job& job);

// "jobs/12" from "12" or "jobs/12"; INVALID_ARGUMENT otherwise.
absl::StatusOr<std::string> JobName(const std::string& text);
std::string NodeName(const std::string& text);

}  // namespace sinew::cli
