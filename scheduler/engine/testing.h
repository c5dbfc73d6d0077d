// SPDX-License-Identifier: Apache-2.0
// Small hand-made clusters for tests of the engine.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policies/registry.h"
#include "scheduler/engine/engine.h"

namespace sinew::testing {

inline constexpr int64_t kSecond = 1'000'000'000;

inline NodeRegisteredEvent Register(const std::string& name, int devices, int64_t milli_cpus = 8000,
                                    const std::string& boot = "boot-1") {
  NodeRegisteredEvent event;
  event.node.name = name;
  event.node.boot_id = boot;
  event.node.cpus = {milli_cpus};
  event.node.memory = {16LL << 30};
  event.node.max_power = {100'000};
  for (int i = 0; i < devices; ++i) event.node.devices.push_back({.type = "v100", .max_power = {250'000}});
  return event;
}

inline JobSpec Spec(int workers, int devices_each = 0) {
  JobSpec spec;
  spec.name = "test";
  spec.pools = {"default"};
  spec.min_workers = spec.max_workers = workers;
  spec.demand.cpus = {1000};
  if (devices_each > 0) spec.demand.devices = {{"v100", devices_each}};
  return spec;
}

// An engine, a clock that only moves when told, and commits that always succeed.
class Bench {
 public:
  explicit Bench(const Registry& registry = Registry::WithBuiltIns(), const PolicySpec& policy = DefaultPolicy(),
                 EngineOptions options = {})
      : engine(std::make_unique<Engine>(options, *Pipeline::Make(registry, policy))) {}

  Transaction Do(std::vector<Event> events) {
    Transaction t = engine->Apply(events, now);
    engine->Commit(t, now);
    return t;
  }
  Transaction Plan() {
    Transaction t = engine->Plan(now);
    engine->Commit(t, now);
    return t;
  }
  void PlanAll() {
    for (int i = 0; i < 20 && engine->NeedsPlan(); ++i) Plan();
  }
  JobId Submit(JobSpec spec, uint32_t uid = 1000, const std::string& request_id = "") {
    SubmitEvent event;
    event.token = ++token;
    event.request_id = request_id;
    event.submitter = {uid, uid, "user"};
    event.spec = std::move(spec);
    const Transaction t = Do({event});
    last_answer = t.answers.at(0);
    return last_answer.job;
  }
  void Cancel(JobId job, uint32_t uid = 1000) {
    CancelEvent event;
    event.token = ++token;
    event.caller_uid = uid;
    event.job = job;
    last_answer = Do({event}).answers.at(0);
  }
  JobPtr Job(JobId id) const { return engine->state().FindJob(id); }
  TaskKey Key(JobId id, int32_t rank) const { return {id, Job(id)->run, rank}; }
  NodeId NodeOf(JobId id, int32_t rank) const { return Job(id)->tasks.at(rank).node; }
  void Ready(JobId id, int32_t rank) {
    TaskReadyEvent event;
    event.node = NodeOf(id, rank);
    event.key = Key(id, rank);
    event.values = {{"r" + std::to_string(rank), "v"}};
    Do({event});
  }
  void Started(JobId id, int32_t rank) { Do({TaskStartedEvent{NodeOf(id, rank), Key(id, rank)}}); }
  void Exited(JobId id, int32_t rank, int exit_code = 0, int signal = 0) {
    TaskExitedEvent event;
    event.node = NodeOf(id, rank);
    event.key = Key(id, rank);
    event.exit_code = exit_code;
    event.signal = signal;
    event.log_tail = {"tail of " + std::to_string(rank)};
    Do({event});
  }
  void Pass(int64_t ns) {
    now.mono_ns += ns;
    now.wall_ns += ns;
  }
  absl::Status Invariants() const { return engine->state().CheckInvariants(); }

  Now now{kSecond, 1'700'000'000 * kSecond};
  std::unique_ptr<Engine> engine;
  AnswerToken token = 0;
  CallerAnswer last_answer;
};

}  // namespace sinew::testing
