// SPDX-License-Identifier: Apache-2.0
// The model to and from the wire. Pure; any thread.
#pragma once

#include <cstdint>

#include "cluster/cluster_state.h"
#include "proto/sinew/v1/job.pb.h"
#include "proto/sinew/v1/node.pb.h"
#include "scheduler/agents/progress_board.h"
#include "scheduler/store/store.h"

namespace sinew {

v1::Reason ToWire(const Reason& reason);
// A valid spec with its defaults.
JobSpec FromWire(const v1::JobSpec& spec);

// Names of nodes are looked up by `node_name`.
using NodeName = std::function<std::string(NodeId)>;
v1::Job ToWire(const Job& job, const NodeName& node_name, const JobProgress& progress);
v1::JobEvent ToWire(const Store::LogLine& line);
v1::Node ToWire(const Node& node, const NodeUsage& usage);

// "jobs/12" or "12"; 0 when it is neither.
uint64_t JobNumber(const std::string& name);

google::protobuf::Timestamp ToTimestamp(int64_t wall_ns);

}  // namespace sinew
