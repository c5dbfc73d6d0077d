// SPDX-License-Identifier: Apache-2.0
#include "spec/reason_text.h"

#include "base/text.h"
#include "spec/signals.h"

namespace sinew {
namespace {

std::string Count(int64_t n, const std::string& one, const std::string& many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string Shortage(const v1::Reason& r, const std::string& what, std::string (*format)(int64_t)) {
  std::string text = "needs " + format(r.needed()) + (what.empty() ? "" : " " + what) + "; " + format(r.total_free()) +
                     " free in all, " + format(r.best_node_free()) + " on the best node";
  if (r.nodes_excluded() > 0) text += "; " + Count(r.nodes_excluded(), "node", "nodes") + " ruled out by it";
  return text;
}

std::string Plain(int64_t n) { return std::to_string(n); }

std::string Devices(const v1::Reason& r) {
  return r.device_type().empty() ? "accelerators" : "of " + EscapeControl(r.device_type());
}

std::string Rank(const v1::Reason& r) {
  return "rank " + std::to_string(r.rank()) + (r.node().empty() ? "" : " on " + EscapeControl(r.node()));
}

std::string Base(const v1::Reason& r) {
  switch (r.code()) {
    case v1::NOT_YET_CONSIDERED:
      return "not looked at yet; the next pass will";
    case v1::NO_NODES:
      return "no node has registered yet";
    case v1::NODES_UNAVAILABLE:
      return (r.nodes_excluded() > 0 ? Count(r.nodes_excluded(), "node that could hold it is", "nodes that could hold it are")
                                     : std::string("the nodes that could hold it are")) +
             " down or drained";
    case v1::INSUFFICIENT_DEVICES:
      return Shortage(r, Devices(r), Plain);
    case v1::INSUFFICIENT_CPUS:
      return Shortage(r, "CPUs", FormatCpus);
    case v1::INSUFFICIENT_MEMORY:
      return Shortage(r, "of memory", FormatBytesShort);
    case v1::BEHIND_IN_QUEUE:
      return "number " + std::to_string(r.position()) + " in the queue; " +
             Count(r.position() > 0 ? r.position() - 1 : 0, "job", "jobs") + " ahead";
    case v1::START_TIMED_OUT:
      return "not every rank was ready in time; it will be tried again";
    case v1::POLICY_ERROR:
      return "the policy failed, and the built-in one decides instead";
    case v1::RETRYING:
      return "a run failed; it will run again";
    case v1::HELD:
      return "held" + (r.detail().empty() ? "" : " by " + EscapeControl(r.detail()));
    case v1::REQUEUED:
      return "its run was stopped to wait again";
    case v1::NODE_DRAINED:
      return (r.node().empty() ? std::string("a node") : "node " + EscapeControl(r.node())) +
             " was drained, and the job may not run again";
    case v1::SUCCEEDED:
      return "every rank exited with 0";
    case v1::TASK_EXITED:
      return Rank(r) + " exited with " + std::to_string(r.exit_code());
    case v1::TASK_SIGNALLED:
      return Rank(r) + " was ended by signal " + std::to_string(r.signal()) + " (" + SignalName(r.signal()) + ")";
    case v1::USER_CANCELLED:
      return "cancelled by a user";
    case v1::TIME_LIMIT_REACHED:
      return "reached its time limit";
    case v1::NODE_LOST:
      return (r.node().empty() ? std::string("a node") : "node " + EscapeControl(r.node())) + " was lost, with rank " +
             std::to_string(r.rank());
    case v1::START_REFUSED:
      return Rank(r) + " could not be started";
    case v1::TASK_STATUS_LOST:
      return Rank(r) + " ended while nobody could see its exit status";
    case v1::NEVER_SATISFIABLE: {
      const bool cpus = r.detail() == "cpus", memory = r.detail() == "memory";
      std::string (*const format)(int64_t) = cpus ? FormatCpus : memory ? FormatBytesShort : Plain;
      std::string text = "the nodes could not hold it even if they were empty";
      if (r.needed() > 0) {
        text += ": needs " + format(r.needed()) + " " + (cpus ? "CPUs" : memory ? "of memory" : Devices(r)) + ", all nodes have " +
                format(r.total_free()) + ", the largest " + format(r.best_node_free());
      }
      return text;
    }
    default:
      return r.code() == v1::REASON_UNSPECIFIED ? "no reason is known" : ReasonName(r.code());
  }
}

}  // namespace

std::string ReasonText(const v1::Reason& reason) {
  const bool told = reason.detail().empty() || reason.code() == v1::NEVER_SATISFIABLE || reason.code() == v1::HELD;
  return Base(reason) + (told ? "" : ": " + EscapeControl(reason.detail()));
}

std::string ReasonHint(const v1::Reason& reason) {
  switch (reason.code()) {
    case v1::NO_NODES:
      return "start an agent, or `sinew up` for this machine alone";
    case v1::NODES_UNAVAILABLE:
      return "see `sinew nodes`";
    case v1::INSUFFICIENT_DEVICES:
    case v1::INSUFFICIENT_CPUS:
    case v1::INSUFFICIENT_MEMORY:
      return "it starts when enough is free on one node or over all; asking for less starts it sooner";
    case v1::TASK_EXITED:
    case v1::TASK_SIGNALLED:
      return "see `sinew logs --stderr`";
    case v1::TIME_LIMIT_REACHED:
      return "raise time_limit";
    case v1::HELD:
      return "`sinew release` lets it start";
    case v1::NODE_DRAINED:
      return "with `retry: {max: 3, on: [node_fail]}` it would wait again instead";
    case v1::NEVER_SATISFIABLE:
      return "ask for less or for fewer workers; `sinew nodes -o wide` shows what there is";
    default:
      return "";
  }
}

std::string ReasonName(v1::ReasonCode code) {
  const std::string& name = v1::ReasonCode_Name(code);
  return name.empty() ? "REASON_" + std::to_string(static_cast<int>(code)) : name;
}

std::string StateName(v1::JobState state) {
  const std::string& name = v1::JobState_Name(state);
  return name.empty() ? "STATE_" + std::to_string(static_cast<int>(state)) : name;
}

bool IsEnd(v1::JobState state) {
  return state == v1::COMPLETED || state == v1::FAILED || state == v1::CANCELLED || state == v1::TIMED_OUT ||
         state == v1::REJECTED;
}

}  // namespace sinew
