// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/engine.h"

#include <algorithm>
#include <cassert>

#include "scheduler/engine/engine_impl.h"

namespace sinew {

Engine::Engine(EngineOptions options, std::unique_ptr<Pipeline> pipeline) : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  impl_->pipeline = std::move(pipeline);
}
Engine::~Engine() = default;

const ClusterState& Engine::state() const { return impl_->state; }
const std::string& Engine::policy_name() const { return impl_->pipeline->name(); }
const std::string& Engine::policy_error() const { return impl_->policy_error; }
bool Engine::NeedsPlan() const { return impl_->pipeline->WantsToRun(); }

void Engine::Restore(RestoredState restored, Now now) {
  Impl& e = *impl_;
  std::sort(restored.nodes.begin(), restored.nodes.end(),
            [](const NodePtr& a, const NodePtr& b) { return a->id < b->id; });
  for (const NodePtr& node : restored.nodes) {
    auto kept = std::make_shared<Node>(*node);
    if (kept->state == NodeState::kUp) kept->state = NodeState::kSuspect;
    e.SetDrain(*kept, now);
    e.state.PutNode(std::move(kept));
  }
  for (const JobPtr& job : restored.jobs) {
    e.state.PutJob(job);
    e.ResetTimer(nullptr, *job, now);
    e.last_job_id = std::max(e.last_job_id, job->id.value);
  }
  e.last_job_id = std::max(e.last_job_id, restored.last_job_id);
  e.revision = restored.last_revision;
  for (RequestRecord& record : restored.requests) {
    const std::pair key(record.uid, record.request_id);
    e.request_age.push_back(key);
    e.requests[key] = std::move(record);
  }
  e.pipeline->Restore(restored.stage_states);
  e.pipeline->NoteEverything();
}

Transaction Engine::Apply(std::span<const Event> events, Now now) {
  Impl& e = *impl_;
  assert(!e.outstanding);
  e.outstanding = true;
  TransactionBuilder tx(e.state, now, e.revision + 1);
  e.FireTimers(tx);
  for (const Event& event : events) e.ApplyEvent(tx, event);
  return tx.Finish();
}

void Engine::Impl::SetTimer(JobId id, std::optional<int64_t> at) {
  if (auto it = timer_of.find(id); it != timer_of.end()) {
    timers.erase({it->second, id});
    timer_of.erase(it);
  }
  if (!at) return;
  timer_of[id] = *at;
  timers.insert({*at, id});
}

void Engine::Impl::ResetTimer(const Job* before, const Job& after, Now now) {
  if (before && before->state == after.state && before->run == after.run &&
      WaitsForRetry(*before) == WaitsForRetry(after)) {
    return;
  }
  std::optional<int64_t> at;
  if (after.state == JobState::kStarting) {
    at = now.mono_ns + options.start_limit.value;
  } else if (after.state == JobState::kRunning && after.spec.time_limit.value > 0) {
    const int64_t passed = std::max<int64_t>(0, now.wall_ns - after.started_wall_ns);
    at = now.mono_ns + std::max<int64_t>(0, after.spec.time_limit.value - passed);
  } else if (WaitsForRetry(after)) {
    const int64_t doubled = options.retry_delay.value << std::min(10, std::max(0, after.failures - 1));
    at = now.mono_ns + std::min<int64_t>(doubled, 60'000'000'000);
  }
  SetTimer(after.id, at);
}

void Engine::Commit(const Transaction& transaction, Now now) {
  Impl& e = *impl_;
  assert(e.outstanding);
  e.outstanding = false;
  if (transaction.NeedsCommit()) e.revision = transaction.revision;

  std::vector<JobId> changed_jobs;
  std::set<NodeId> changed_nodes;
  for (const NodePtr& node : transaction.nodes) {
    e.state.PutNode(node);
    e.SetDrain(*node, now);
    changed_nodes.insert(node->id);
  }
  for (const JobPtr& job : transaction.jobs) {
    const JobPtr before = e.state.FindJob(job->id);
    e.state.PutJob(job);
    e.last_job_id = std::max(e.last_job_id, job->id.value);
    e.ResetTimer(before.get(), *job, now);
    if (!WaitsForPlace(*job)) e.order.Erase(job->id);
    if (!before || before->state != job->state || WaitsForPlace(*before) != WaitsForPlace(*job)) {
      changed_jobs.push_back(job->id);
    }
    for (size_t i = 0; i < job->tasks.size(); ++i) {
      const bool freed = !before || i >= before->tasks.size() || before->run != job->run ||
                         before->tasks[i].state != job->tasks[i].state || before->state != job->state;
      if (freed && (job->tasks[i].state == TaskState::kExited || !before || before->run != job->run ||
                    HoldsResources(before->state) != HoldsResources(job->state))) {
        changed_nodes.insert(job->tasks[i].node);
      }
    }
  }
  for (const auto& [id, ran] : e.running_for) {
    const JobPtr job = e.state.FindJob(id);
    if (job && job->state == JobState::kRunning && job->spec.time_limit.value > 0) {
      e.SetTimer(id, now.mono_ns + std::max<int64_t>(0, job->spec.time_limit.value - ran));
    }
  }
  for (const RequestRecord& record : transaction.requests) {
    const std::pair key(record.uid, record.request_id);
    if (e.requests.emplace(key, record).second) e.request_age.push_back(key);
  }
  while (!e.request_age.empty()) {
    auto it = e.requests.find(e.request_age.front());
    if (it != e.requests.end() && it->second.wall_ns + e.options.request_id_life.value > transaction.wall_ns) break;
    if (it != e.requests.end()) e.requests.erase(it);
    e.request_age.pop_front();
  }
  // Timers that fired and found nothing to change must not fire again and again.
  while (!e.timers.empty() && e.timers.begin()->first <= e.fired_until) {
    e.SetTimer(e.timers.begin()->second, std::nullopt);
  }
  while (!e.drains.empty() && e.drains.begin()->first <= e.fired_until) e.drains.erase(e.drains.begin());
  if (e.planned) {
    while (!e.wake_ups.empty() && *e.wake_ups.begin() <= e.woken_until) e.wake_ups.erase(e.wake_ups.begin());
    for (const auto& [id, key] : e.planned->draft.order_keys()) {
      if (e.state.pending().contains(id)) e.order.Set(id, key);
    }
    e.policy_error = e.planned->fell_back ? e.planned->error : "";
    e.pipeline->Accept(std::move(*e.planned));
    e.rejections = std::move(e.next_rejections);
  }
  for (AnswerEvent& answer : e.answers) e.pipeline->NoteAnswer(answer.stage, std::move(answer.answer));
  e.wake_ups.insert(e.next_wake_ups.begin(), e.next_wake_ups.end());
  e.pipeline->Note(changed_jobs, {changed_nodes.begin(), changed_nodes.end()});
  if (!e.wake_ups.empty() && *e.wake_ups.begin() <= now.mono_ns) e.pipeline->NoteTimer();
  e.state.ForgetEnded(e.options.ended_jobs_in_memory);
  Abandon(transaction);
}

void Engine::Abandon(const Transaction&) {
  Impl& e = *impl_;
  e.outstanding = false;
  e.created = 0;
  e.planned.reset();
  e.running_for.clear();
  e.answers.clear();
  e.next_rejections.clear();
  e.next_wake_ups.clear();
  e.fired_until = -1;
  e.woken_until = -1;
}

std::optional<int64_t> Engine::NextTimer() const {
  std::optional<int64_t> at;
  if (!impl_->timers.empty()) at = impl_->timers.begin()->first;
  if (!impl_->drains.empty()) at = std::min(at.value_or(impl_->drains.begin()->first), impl_->drains.begin()->first);
  if (!impl_->wake_ups.empty()) at = std::min(at.value_or(*impl_->wake_ups.begin()), *impl_->wake_ups.begin());
  return at;
}

std::vector<DesiredTask> Engine::Desired(NodeId node) const {
  std::vector<DesiredTask> desired;
  if (node.value >= impl_->state.nodes().size()) return desired;
  for (const TaskKey& key : impl_->state.usage(node).tasks) {
    const JobPtr job = impl_->state.FindJob(key.job);
    DesiredTask::Phase phase = DesiredTask::Phase::kPrepare;
    if (job->state == JobState::kStopping) {
      phase = DesiredTask::Phase::kStop;
    } else if (job->go) {
      phase = DesiredTask::Phase::kGo;
    }
    desired.push_back({key, phase});
  }
  return desired;
}

std::map<JobId, int64_t> Engine::QueuePositions() const {
  std::map<JobId, int64_t> positions;
  int64_t position = 0;
  for (const auto& [key, id] : impl_->order.ranked()) positions[id] = ++position;
  // Not ranked yet: behind all that are, in the order of arrival.
  for (const JobId id : impl_->state.pending()) {
    if (!impl_->order.Contains(id)) positions[id] = ++position;
  }
  return positions;
}

int64_t Engine::QueuePosition(JobId job) const {
  if (!impl_->state.pending().contains(job)) return 0;
  int64_t position = 0;
  for (const auto& [key, id] : impl_->order.ranked()) {
    ++position;
    if (id == job) return position;
  }
  for (const JobId id : impl_->state.pending()) {
    if (!impl_->order.Contains(id)) ++position;
    if (id == job) return position;
  }
  return position;
}

bool Engine::Satisfiable(const JobSpec& spec, Reason* reason) const {
  return SatisfiableIn(impl_->state, spec, reason);
}

}  // namespace sinew
