// SPDX-License-Identifier: Apache-2.0
// What an agent is told about one rank. Pure; any thread.
#pragma once

#include <string>

#include "cluster/job.h"
#include "proto/sinew/v1/agent.pb.h"

namespace sinew {

v1::TaskKey ToWire(const TaskKey& key);
TaskKey FromWire(const v1::TaskKey& key);

// A body never changes for a task, so its name is the task's.
std::string BodyDigest(const TaskKey& key);

// `rank` must be one of the job's current run.
v1::TaskBody MakeTaskBody(const Job& job, int32_t rank);

}  // namespace sinew
