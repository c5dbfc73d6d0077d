// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/dump.h"

#include "absl/strings/str_cat.h"

namespace sinew {
namespace {

std::string Text(const Reason& r) {
  return absl::StrCat("{", static_cast<int>(r.code), " needed=", r.needed, " best=", r.best_node_free,
                      " total=", r.total_free, " excluded=", r.nodes_excluded, " type=", r.device_type,
                      " position=", r.position, " rank=", r.rank, " node=", r.node, " exit=", r.exit_code,
                      " signal=", r.signal, " detail=", r.detail, "}");
}

}  // namespace

std::string Dump(const Job& job) {
  std::string out = absl::StrCat("job ", job.id.value, " ", std::string(Name(job.state)), " run=", job.run,
                                 " failures=", job.failures, " held=", job.held, ",", job.held_by, " go=", job.go, " to=",
                                 std::string(Name(job.stopping_to)), " energy=", job.energy.value, " exit=",
                                 job.exit_code, " times=", job.submitted_wall_ns, ",", job.state_since_wall_ns, ",",
                                 job.started_wall_ns, ",", job.ended_wall_ns, " revision=", job.revision);
  for (const Reason& reason : job.reasons) absl::StrAppend(&out, " ", Text(reason));
  for (const Task& t : job.tasks) {
    absl::StrAppend(&out, " [", t.rank, "@", t.node.value, " state=", static_cast<int>(t.state), " exit=", t.exit_code,
                    ",", t.signal, ",", t.status_lost, ",", t.never_started, " times=", t.started_wall_ns, ",",
                    t.ended_wall_ns, " port=", t.free_port, " devices=");
    for (const int32_t d : t.devices) absl::StrAppend(&out, d, ",");
    for (const auto& [key, value] : t.values) absl::StrAppend(&out, " ", key, "=", value);
    absl::StrAppend(&out, "]");
  }
  for (const std::string& line : job.log_tail) absl::StrAppend(&out, " |", line);
  return out;
}

std::string Dump(const Transaction& t) {
  std::string out = absl::StrCat("revision ", t.revision, " at ", t.wall_ns, "\n");
  for (const JobPtr& job : t.jobs) absl::StrAppend(&out, Dump(*job), "\n");
  for (const NodePtr& node : t.nodes) {
    absl::StrAppend(&out, "node ", node->id.value, " ", node->name, " state=", static_cast<int>(node->state), " boot=",
                    node->boot_id, " cordon=", node->cordon.on, ",", node->cordon.draining, ",", node->cordon.reason, " devices=", node->devices.size(), "\n");
  }
  for (const JobLogRecord& l : t.log) {
    absl::StrAppend(&out, "log ", l.job.value, " ", l.wall_ns, " ", std::string(Name(l.state)), " ", l.run, " ",
                    Text(l.reason), " ", l.text, "\n");
  }
  for (const RequestRecord& r : t.requests) {
    absl::StrAppend(&out, "request ", r.uid, " ", r.request_id, " ", r.job.value, " ", r.wall_ns, "\n");
  }
  for (const StageStateRecord& s : t.stage_states) absl::StrAppend(&out, "state ", s.stage, " ", s.bytes, "\n");
  for (const CallerAnswer& a : t.answers) {
    absl::StrAppend(&out, "answer ", a.token, " ", a.status.ToString(), " ", a.job.value, " ", Text(a.reason), "\n");
  }
  for (const NodeId n : t.desired_changed) absl::StrAppend(&out, "tell ", n.value, "\n");
  for (const Question& q : t.questions) absl::StrAppend(&out, "question ", q.stage, " ", q.tag, " ", q.body, "\n");
  absl::StrAppend(&out, "fell_back=", t.plan_fell_back, " ", t.plan_error, "\n");
  return out;
}

}  // namespace sinew
