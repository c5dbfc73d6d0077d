// SPDX-License-Identifier: Apache-2.0
// What the launcher is asked to run for a task: its argument list, its environment, its place. No I/O but look-ups of
// users. Any thread.
#pragma once

#include <string>

#include "agent/session/note.pb.h"
#include "proto/sinew/v1/agent.pb.h"
#include "proto/sinew/v1/launcher.pb.h"
#include "proto/sinew/v1/node.pb.h"

namespace sinew::agent {

// What a task needs to know of its node.
struct NodeFacts {
  std::string node;            // its name
  std::string trainer;         // path of sinew-trainer; "" = not installed here
  std::string runtime_socket;  // of TaskRuntime
  v1::NodeInfo info;
};

// "" when the node can run it; otherwise why not.
std::string WhyNot(const v1::TaskBody& body, const NodeFacts& facts);

// The environment, from weakest to strongest: the user's account; one thread for each whole core; what the job says;
// the variables of torchrun, of devices and of SINEW_*. The task runs with the group it was submitted with.
v1::StartTask MakeStart(const Note& note, const v1::DesiredTask& desired, const NodeFacts& facts);

// Absolute path of what the task writes, where its job names one; "" when the launcher keeps it.
std::string OutputPath(const v1::TaskBody& body, bool errors);

}  // namespace sinew::agent
