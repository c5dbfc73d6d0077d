// SPDX-License-Identifier: Apache-2.0
#include "scheduler/agents/agent_hub.h"

#include <spdlog/spdlog.h>

#include <deque>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "scheduler/agents/node_session.h"
#include "scheduler/agents/task_body.h"

namespace sinew {
namespace {

constexpr size_t kMaxQueued = 100'000;  // messages; an agent so far behind is cut off and starts from the full state

using Stream = grpc::ServerReaderWriter<v1::ControllerMessage, v1::AgentMessage>;

// What every rank of the gang set, which the engine keeps until all run.
void AddRendezvous(const Job& job, const ClusterState& state, v1::DesiredTask& to) {
  const Task* first = job.tasks.empty() ? nullptr : &job.tasks[0];
  if (first) {
    if (const NodePtr node = state.FindNode(first->node)) {
      v1::NodeInfo info;
      info.ParseFromString(node->info);
      to.set_master_address(info.address().empty() ? "127.0.0.1" : info.address());
    }
    to.set_master_port(first->free_port);
  }
  if (!job.spec.rendezvous) return;
  for (const Task& task : job.tasks) {
    v1::Rendezvous* peer = to.add_peers();
    peer->set_rank(task.rank);
    for (const auto& [key, value] : task.values) (*peer->mutable_values())[key] = value;
  }
}

}  // namespace

// One stream. The machine is guarded by `mutex`; messages leave in order through the writer's thread.
struct AgentHub::Link {
  absl::Mutex mutex;
  NodeSession session ABSL_GUARDED_BY(mutex);
  std::deque<v1::ControllerMessage> queue ABSL_GUARDED_BY(mutex);
  bool closing ABSL_GUARDED_BY(mutex) = false;  // after the queue is sent
  bool dead ABSL_GUARDED_BY(mutex) = false;     // at once
  grpc::ServerContext* context = nullptr;

  void Push(NodeSession::Out& out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    for (v1::ControllerMessage& message : out.send) queue.push_back(std::move(message));
    if (queue.size() > kMaxQueued) dead = true;
    closing |= out.close;
  }
  void WriteAll(Stream* stream) {
    while (true) {
      std::deque<v1::ControllerMessage> batch;
      bool last = false;
      {
        absl::MutexLock lock(&mutex);
        const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return dead || closing || !queue.empty(); };
        mutex.Await(absl::Condition(&ready));
        if (dead) break;
        batch.swap(queue);
        last = closing;
      }
      for (const v1::ControllerMessage& message : batch) {
        if (!stream->Write(message)) last = true;
      }
      if (last) break;
    }
    context->TryCancel();  // the reader wakes
  }
  void Kill() {
    absl::MutexLock lock(&mutex);
    dead = true;
  }
};

AgentHub::AgentHub(Options options, Controller& controller, ProgressBoard& progress, LogRelay& logs,
                   std::function<std::optional<Caller>(const std::string&)> caller_of)
    : options_(std::move(options)), controller_(controller), progress_(progress), logs_(logs),
      caller_of_(std::move(caller_of)), started_ns_(MonoNs()) {}
AgentHub::~AgentHub() = default;

bool AgentHub::MayBeAgent(grpc::ServerContext* context) const {
  const auto caller = caller_of_(context->peer());
  return caller && options_.agent_uids.contains(caller->uid);
}

grpc::Status AgentHub::Session(grpc::ServerContext* context, Stream* stream) {
  if (!MayBeAgent(context)) {
    return {grpc::StatusCode::PERMISSION_DENIED, "this user may not act as an agent; see agents.uids in sinewd.yaml"};
  }
  auto link = std::make_shared<Link>();
  link->context = context;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return {grpc::StatusCode::UNAVAILABLE, "the daemon is stopping"};
    all_.insert(link);
  }
  std::thread writer([&] { link->WriteAll(stream); });
  v1::AgentMessage message;
  while (stream->Read(&message)) Handle(link, message);
  link->Kill();
  writer.join();
  absl::MutexLock lock(&mutex_);
  all_.erase(link);
  std::string node;
  {
    absl::MutexLock link_lock(&link->mutex);
    node = link->session.node();
  }
  if (auto it = links_.find(node); it != links_.end() && it->second == link) {
    links_.erase(it);
    spdlog::info("msg=\"an agent went away\" node={}", node);
  }
  return grpc::Status::OK;
}

grpc::Status AgentHub::Bulk(grpc::ServerContext* context, grpc::ServerReaderWriter<v1::BulkDown, v1::BulkUp>* stream) {
  if (!MayBeAgent(context)) return {grpc::StatusCode::PERMISSION_DENIED, "this user may not act as an agent"};
  return logs_.Serve(context, stream);
}

void AgentHub::Handle(const LinkPtr& link, const v1::AgentMessage& message) {
  NodeSession::Out out;
  std::string node;
  const int64_t now = MonoNs();
  {
    absl::MutexLock lock(&link->mutex);
    out = link->session.OnMessage(message, now);
    node = link->session.node();
    link->Push(out);
  }
  if (!node.empty()) {
    absl::MutexLock lock(&mutex_);
    last_heard_[node] = now;
  }
  if (out.registration) {
    controller_.Post(std::move(*out.registration), [this, link](absl::Status status) {
      status.ok() ? OnRegistrationDurable(link) : link->Kill();  // the agent comes again
    });
  }
  for (NodeSession::Report& report : out.reports) {
    controller_.Post(std::move(report.event), [link, sequence = report.sequence](absl::Status status) {
      if (!status.ok()) return;  // the agent repeats it
      absl::MutexLock lock(&link->mutex);
      NodeSession::Out ack = link->session.OnCommitted(sequence);
      link->Push(ack);
    });
  }
  if (out.progress) progress_.Report(out.progress->first, out.progress->second);
  if (!out.fetch.empty()) {
    std::vector<v1::TaskBody> bodies;
    controller_.Read([&](const Engine& engine) {
      for (const TaskKey& key : out.fetch) {
        const JobPtr job = engine.state().FindJob(key.job);
        if (job && job->run == key.run) bodies.push_back(MakeTaskBody(*job, key.rank));
      }
    });
    absl::MutexLock lock(&link->mutex);
    NodeSession::Out answer = link->session.SendBodies(bodies);
    link->Push(answer);
  }
}

// On the controller's thread.
void AgentHub::OnRegistrationDurable(const LinkPtr& link) {
  std::string name;
  {
    absl::MutexLock lock(&link->mutex);
    name = link->session.node();
  }
  LinkPtr replaced;
  {
    absl::MutexLock lock(&mutex_);
    LinkPtr& slot = links_[name];
    replaced = std::exchange(slot, link);
  }
  if (replaced) replaced->Kill();  // an agent that was started anew; its old stream was not yet seen to be gone
  controller_.Read([&](const Engine& engine) {
    const NodePtr node = engine.state().FindNode(name);
    if (!node) return;
    {
      absl::MutexLock lock(&link->mutex);
      NodeSession::Out out = link->session.OnRegistered(node->id, options_.cluster_id);
      link->Push(out);
    }
    TellDesired(link, engine);
  });
  spdlog::info("msg=\"an agent registered\" node={}", name);
}

void AgentHub::TellDesired(const LinkPtr& link, const Engine& engine) {
  absl::MutexLock lock(&link->mutex);
  const auto id = link->session.node_id();
  if (!id) return;
  std::vector<v1::DesiredTask> tasks;
  for (const DesiredTask& task : engine.Desired(*id)) {
    v1::DesiredTask to;
    *to.mutable_key() = ToWire(task.key);
    to.set_digest(BodyDigest(task.key));
    const JobPtr job = engine.state().FindJob(task.key.job);
    switch (task.phase) {
      case DesiredTask::Phase::kPrepare: to.set_phase(v1::PREPARE); break;
      case DesiredTask::Phase::kGo: {
        to.set_phase(v1::GO);
        // Said once: by the time a rank runs, its peers' values are no longer kept.
        const bool runs = job->tasks[task.key.rank].state == TaskState::kRunning;
        if (!runs) AddRendezvous(*job, engine.state(), to);
        break;
      }
      case DesiredTask::Phase::kStop:
        to.set_phase(v1::STOP);
        to.set_stop_grace_ns(job->spec.grace.value);
        break;
    }
    tasks.push_back(std::move(to));
  }
  NodeSession::Out out = link->session.OnDesired(tasks, [&](const TaskKey& key) {
    return MakeTaskBody(*engine.state().FindJob(key.job), key.rank);
  });
  link->Push(out);
}

void AgentHub::OnCommitted(const Transaction& transaction, const Engine& engine) {
  for (const NodeId id : transaction.desired_changed) {
    const NodePtr node = engine.state().FindNode(id);
    LinkPtr link;
    {
      absl::MutexLock lock(&mutex_);
      if (auto it = links_.find(node->name); it != links_.end()) link = it->second;
    }
    if (link) TellDesired(link, engine);
  }
}

int64_t AgentHub::LastHeard(const std::string& node) const {
  absl::MutexLock lock(&mutex_);
  auto it = last_heard_.find(node);
  return it == last_heard_.end() ? 0 : it->second;
}

void AgentHub::Tick(int64_t now) {
  std::vector<std::pair<NodeId, NodeState>> changes;
  controller_.Read([&](const Engine& engine) {
    for (const NodePtr& node : engine.state().nodes()) {
      if (node->state == NodeState::kConfigured) continue;
      const int64_t heard = std::max(LastHeard(node->name), started_ns_);
      const bool known = LastHeard(node->name) != 0;
      NodeState state = node->state;
      if (now - heard > kLostAfterNs) {
        state = NodeState::kLost;
      } else if (now - heard > kSuspectAfterNs) {
        if (state == NodeState::kUp) state = NodeState::kSuspect;
      } else if (known) {
        absl::MutexLock lock(&mutex_);
        // Only a stream that is registered brings a node back.
        if (links_.contains(node->name)) state = NodeState::kUp;
      }
      if (state != node->state) changes.emplace_back(node->id, state);
    }
  });
  for (const auto& [id, state] : changes) controller_.Post(NodeStateEvent{id, state});
}

void AgentHub::Shutdown() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  for (const LinkPtr& link : all_) link->Kill();
}

}  // namespace sinew
