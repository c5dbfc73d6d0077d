// SPDX-License-Identifier: Apache-2.0
// Everything that can happen to the engine. The daemon makes events from calls, agent reports and timers; the simulator
// and the fault tests make them themselves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/ids.h"
#include "cluster/job.h"
#include "cluster/node.h"
#include "policies/view.h"

namespace sinew {

// Identifies the caller that waits for an answer; 0 = nobody waits.
using AnswerToken = uint64_t;

struct SubmitEvent {
  AnswerToken token = 0;
  std::string request_id;  // "" = not idempotent. Kept for each uid.
  Submitter submitter;
  JobSpec spec;            // validated and with all defaults
};

struct CancelEvent {
  AnswerToken token = 0;
  std::string request_id;
  uint32_t caller_uid = 0;
  bool caller_is_operator = false;  // may cancel other users' jobs; others hear NOT_FOUND
  JobId job;
};

struct JobControlEvent {
  AnswerToken token = 0;
  std::string request_id;
  uint32_t caller_uid = 0;
  bool caller_is_operator = false;
  std::string caller;  // user name
  JobId job;
  enum class Verb : uint8_t { kHold, kRelease, kRequeue } verb = Verb::kHold;
  bool hold = false;   // requeue: and hold it
};

// By an operator; the caller's right was checked. Repeating one changes nothing.
struct NodeControlEvent {
  AnswerToken token = 0;
  std::string caller;
  std::string node;  // name
  enum class Verb : uint8_t { kCordon, kDrain, kResume } verb = Verb::kCordon;
  std::string reason;
  std::optional<int64_t> deadline_ns;  // drain: from now; none = what runs there may go on to its end
  bool force = false;                  // drain: at the deadline also stop jobs that may not run again
};

// A task that a node says it holds.
struct HeldTask {
  TaskKey key;
  enum class State : uint8_t { kPreparing, kReady, kRunning, kStopping, kExited } state = State::kPreparing;
  int64_t running_for_ns = 0;
};

// An agent registered, or registered again. `node.id` and `node.state` are the engine's to set. Tasks of current runs
// that the node should hold and does not are taken as lost, unless they are still only wanted (never acknowledged).
struct NodeRegisteredEvent {
  Node node;
  bool from_configuration = false;  // named in the configuration, not there yet
  std::vector<HeldTask> held;
};

struct NodeStateEvent {  // the session's view: heard again, silent for a while, silent for long
  NodeId node;
  NodeState state = NodeState::kUp;
};

struct TaskReadyEvent {
  NodeId node;
  TaskKey key;
  std::map<std::string, std::string> values;
  int32_t free_port = 0;
};
struct TaskStartedEvent {
  NodeId node;
  TaskKey key;
};
struct TaskExitedEvent {
  NodeId node;
  TaskKey key;
  int32_t exit_code = 0;
  int32_t signal = 0;
  bool status_lost = false;
  bool never_started = false;
  std::vector<std::string> log_tail;
  int64_t ran_for_ns = 0;
};
struct TaskRefusedEvent {  // the agent cannot prepare or start it
  NodeId node;
  TaskKey key;
  std::string why;
};

struct AnswerEvent {
  std::string stage;
  Answer answer;
};

using Event = std::variant<SubmitEvent, CancelEvent, JobControlEvent, NodeControlEvent, NodeRegisteredEvent, NodeStateEvent,
                           TaskReadyEvent, TaskStartedEvent, TaskExitedEvent, TaskRefusedEvent, AnswerEvent>;

}  // namespace sinew
