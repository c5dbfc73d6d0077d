// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rpc/jobs_service.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "policies/place/fit.h"
#include "scheduler/agents/task_body.h"
#include "scheduler/rpc/ask.h"
#include "scheduler/rpc/convert.h"
#include "scheduler/rpc/errors.h"
#include "spec/defaults.h"
#include "spec/validate.h"

namespace sinew {
namespace {

constexpr size_t kMaxSpecBytes = 256 << 10;

#define OR_RETURN_GRPC(lhs, expr) OR_RETURN_GRPC_IMPL(SINEW_CONCAT(sinew_or_, __LINE__), lhs, expr)
#define OR_RETURN_GRPC_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                        \
  if (!tmp.ok()) return ToGrpc(tmp.status()); \
  lhs = *std::move(tmp)

absl::Status NotFound(const std::string& name) {
  return absl::NotFoundError(absl::StrCat("there is no job ", name.substr(0, 80)));
}

grpc::Status BadField(const std::string& field, const std::string& message) {
  return InvalidFields({{field, message}});
}

absl::StatusOr<int> PageSize(int asked, int fallback, int most) {
  if (asked < 0) return absl::InvalidArgumentError("page_size: must not be negative");
  return asked == 0 ? fallback : std::min(asked, most);
}

}  // namespace

std::string JobsService::NameOf(NodeId id) const {
  std::string name;
  controller_.Read([&](const Engine& engine) {
    if (const NodePtr node = engine.state().FindNode(id)) name = node->name;
  });
  return name;
}

v1::Job JobsService::Show(const Job& job) {
  return ToWire(job, [this](NodeId id) { return NameOf(id); }, progress_.Of(job.id));
}

absl::StatusOr<Job> JobsService::Find(const User& user, const std::string& name) {
  const JobId id{JobNumber(name)};
  JobPtr job;
  int64_t position = 0;
  controller_.Read([&](const Engine& engine) {
    job = engine.state().FindJob(id);
    if (job && WaitsForPlace(*job)) position = engine.QueuePosition(id);
  });
  std::optional<Job> found;
  if (job) {
    found = *job;
  } else if (id.value != 0) {
    ASSIGN_OR_RETURN(found, controller_.store().FindJob(id));
  }
  if (!found || (found->submitter.uid != user.uid && !user.operator_)) return NotFound(name);
  // Why a job behind the head waits is a matter of its place, and is said when asked.
  if (position > 1 && (found->reasons.empty() || found->reasons[0].code == ReasonCode::kNotYetConsidered)) {
    Reason behind;
    behind.code = ReasonCode::kBehindInQueue;
    behind.position = position;
    found->reasons = {behind};
  }
  return *std::move(found);
}

grpc::Status JobsService::SubmitJob(grpc::ServerContext* context, const v1::SubmitJobRequest* request,
                                    v1::SubmitJobResponse* response) {
  OR_RETURN_GRPC(const User user, identity_.Of(context->peer()));
  if (request->request_id().size() > 128) return BadField("request_id", "at most 128 bytes");
  v1::JobSpec spec = request->spec();
  if (spec.ByteSizeLong() > kMaxSpecBytes) return BadField("spec", "at most 256 KiB");
  ApplyDefaults(spec);
  if (const auto violations = Validate(spec); !violations.empty()) return InvalidFields(violations);
  if (spec.workdir().empty() || spec.workdir()[0] != '/') return BadField("workdir", "must be an absolute path");

  SubmitEvent event;
  event.request_id = request->request_id();
  event.submitter = {user.uid, user.gid, user.name};
  event.spec = FromWire(spec);
  if (request->validate_only()) {
    Reason reason;
    bool satisfiable = true;
    controller_.Read([&](const Engine& engine) { satisfiable = engine.Satisfiable(event.spec, &reason); });
    if (!satisfiable) return NeverSatisfiable(ToWire(reason));
    *response->mutable_job()->mutable_spec() = spec;
    response->mutable_job()->set_user(user.name);
    response->mutable_job()->set_uid(user.uid);
    return grpc::Status::OK;
  }
  const CallerAnswer answer = Ask(controller_, std::move(event));
  if (!answer.status.ok()) {
    if (answer.reason.code == ReasonCode::kNeverSatisfiable) return NeverSatisfiable(ToWire(answer.reason));
    return ToGrpc(answer.status);
  }
  OR_RETURN_GRPC(const Job job, Find(user, std::to_string(answer.job.value)));
  *response->mutable_job() = Show(job);
  return grpc::Status::OK;
}

grpc::Status JobsService::GetJob(grpc::ServerContext* context, const v1::GetJobRequest* request, v1::Job* response) {
  OR_RETURN_GRPC(const User user, identity_.Of(context->peer()));
  OR_RETURN_GRPC(const Job job, Find(user, request->name()));
  *response = Show(job);
  return grpc::Status::OK;
}

// Live jobs newest first, then ended ones. A token is the id to go on below, with "e" once the live ones are through.
grpc::Status JobsService::ListJobs(grpc::ServerContext* context, const v1::ListJobsRequest* request,
                                   v1::ListJobsResponse* response) {
  OR_RETURN_GRPC(const User user, identity_.Of(context->peer()));
  OR_RETURN_GRPC(const int size, PageSize(request->page_size(), 100, kMaxPage));
  const bool everybody = request->all_users() && user.operator_;
  std::string token = request->page_token();
  const bool in_ended = token.starts_with("e");
  if (in_ended) token = token.substr(1);
  if (!token.empty() && JobNumber(token) == 0) return BadField("page_token", "is not one that this service gave");
  if (in_ended && !request->include_ended()) return BadField("page_token", "belongs to another question");
  const uint64_t below = token.empty() ? UINT64_MAX : JobNumber(token);

  std::vector<Job> page;
  bool more_live = false;
  if (!in_ended) {
    controller_.Read([&](const Engine& engine) {
      const ClusterState& state = engine.state();
      std::vector<JobId> live;
      if (everybody) {
        for (auto it = state.jobs().rbegin(); it != state.jobs().rend() && static_cast<int>(live.size()) <= size; ++it) {
          if (it->first.value < below && !IsEnd(it->second->state)) live.push_back(it->first);
        }
      } else {
        live = state.LiveJobsOf(user.uid);
        std::reverse(live.begin(), live.end());
        std::erase_if(live, [below](JobId id) { return id.value >= below; });
      }
      more_live = static_cast<int>(live.size()) > size;
      if (more_live) live.resize(size);
      const bool any_waits = std::any_of(live.begin(), live.end(), [&](JobId id) { return state.pending().contains(id); });
      std::map<JobId, int64_t> positions;
      if (any_waits) positions = engine.QueuePositions();
      for (const JobId id : live) {
        Job job = *state.FindJob(id);
        auto it = positions.find(id);
        if (it != positions.end() && it->second > 1 &&
            (job.reasons.empty() || job.reasons[0].code == ReasonCode::kNotYetConsidered)) {
          Reason behind;
          behind.code = ReasonCode::kBehindInQueue;
          behind.position = it->second;
          job.reasons = {behind};
        }
        page.push_back(std::move(job));
      }
    });
  }
  if (more_live) {
    response->set_next_page_token(std::to_string(page.back().id.value));
  } else if (request->include_ended()) {
    const int room = size - static_cast<int>(page.size());
    if (room > 0) {
      OR_RETURN_GRPC(auto ended, controller_.store().EndedJobs(everybody ? std::nullopt : std::optional(user.uid),
                                                               in_ended ? below : 0, room + 1));
      const bool more = static_cast<int>(ended.size()) > room;
      if (more) ended.resize(room);
      for (Job& job : ended) page.push_back(std::move(job));
      if (more) response->set_next_page_token(absl::StrCat("e", page.back().id.value));
    } else {
      response->set_next_page_token(absl::StrCat("e", INT64_MAX / 16));
    }
  }
  for (const Job& job : page) *response->add_jobs() = Show(job);
  return grpc::Status::OK;
}

template <typename Request, typename ControlEvent>
grpc::Status JobsService::Change(grpc::ServerContext* context, const Request& request, ControlEvent event,
                                 v1::Job* response) {
  OR_RETURN_GRPC(const User user, identity_.Of(context->peer()));
  if (request.request_id().size() > 128) return BadField("request_id", "at most 128 bytes");
  // Also finds a job that ended long ago, so that the answer is "has ended" and not "unknown".
  OR_RETURN_GRPC(const Job before, Find(user, request.name()));
  event.request_id = request.request_id();
  event.caller_uid = user.uid;
  event.caller_is_operator = user.operator_;
  if constexpr (requires { event.caller; }) event.caller = user.name;
  event.job = before.id;
  const CallerAnswer answer = Ask(controller_, std::move(event));
  if (absl::IsNotFound(answer.status)) {
    return ToGrpc(absl::FailedPreconditionError(absl::StrCat("jobs/", before.id.value, " has already ended")));
  }
  if (!answer.status.ok()) return ToGrpc(answer.status);
  OR_RETURN_GRPC(const Job job, Find(user, request.name()));
  *response = Show(job);
  return grpc::Status::OK;
}

grpc::Status JobsService::CancelJob(grpc::ServerContext* context, const v1::CancelJobRequest* request,
                                    v1::Job* response) {
  return Change(context, *request, CancelEvent{}, response);
}

grpc::Status JobsService::HoldJob(grpc::ServerContext* context, const v1::HoldJobRequest* request, v1::Job* response) {
  return Change(context, *request, JobControlEvent{.verb = JobControlEvent::Verb::kHold}, response);
}

grpc::Status JobsService::ReleaseJob(grpc::ServerContext* context, const v1::ReleaseJobRequest* request,
                                     v1::Job* response) {
  return Change(context, *request, JobControlEvent{.verb = JobControlEvent::Verb::kRelease}, response);
}

grpc::Status JobsService::RequeueJob(grpc::ServerContext* context, const v1::RequeueJobRequest* request,
                                     v1::Job* response) {
  return Change(context, *request,
                JobControlEvent{.verb = JobControlEvent::Verb::kRequeue, .hold = request->hold()}, response);
}

grpc::Status JobsService::ExplainJob(grpc::ServerContext* context, const v1::ExplainJobRequest* request,
                                     v1::ExplainJobResponse* response) {
  OR_RETURN_GRPC(const User user, identity_.Of(context->peer()));
  OR_RETURN_GRPC(const Job job, Find(user, request->name()));
  *response->mutable_job() = Show(job);
  controller_.Read([&](const Engine& engine) {
    const ClusterState& state = engine.state();
    response->set_position(engine.QueuePosition(job.id));
    response->set_ahead(std::max<int64_t>(0, response->position() - 1));
    std::vector<Room> rooms;
    for (const NodePtr& node : state.nodes()) {
      std::vector<Room> one = {EmptyRoom(node)};
      JobSpec single = job.spec;
      single.colocation = Colocation::kNone;
      if (Fit(one, single, 1, Preference::kPack)) {
        response->set_nodes_fitting_when_empty(response->nodes_fitting_when_empty() + 1);
      }
      if (TakesWork(*node)) rooms.push_back(RoomNow(node, state.usage(node->id)));
    }
    if (!WaitsForPlace(job)) return;
    // What would let it start on what is free now.
    for (int32_t workers = job.spec.max_workers - 1; workers >= 1 && workers >= job.spec.max_workers - 64; --workers) {
      std::vector<Room> scratch = rooms;
      if (!Fit(scratch, job.spec, workers, Preference::kPack)) continue;
      response->add_would_help(absl::StrCat("with ", workers, " workers instead of ", job.spec.max_workers,
                                            " it would fit on what is free now"));
      break;
    }
    if (job.spec.colocation != Colocation::kNone) {
      JobSpec anywhere = job.spec;
      anywhere.colocation = Colocation::kNone;
      std::vector<Room> scratch = rooms;
      if (Fit(scratch, anywhere, job.spec.max_workers, Preference::kPack)) {
        response->add_would_help("without its placement demand it would fit on what is free now");
      }
    }
    if (response->position() == 1) {
      std::vector<Room> away = rooms;
      for (const NodePtr& node : state.nodes()) {
        if (!TakesWork(*node)) away.push_back(EmptyRoom(node));
      }
      if (away.size() > rooms.size() && Fit(away, job.spec, job.spec.max_workers, Preference::kPack)) {
        response->add_would_help("nodes that are down or cordoned now could hold it");
      }
    } else if (response->position() > 1) {
      response->add_would_help(absl::StrCat(response->ahead(), " jobs are ahead in its queue"));
    }
  });
  return grpc::Status::OK;
}

grpc::Status JobsService::ListJobEvents(grpc::ServerContext* context, const v1::ListJobEventsRequest* request,
                                        v1::ListJobEventsResponse* response) {
  OR_RETURN_GRPC(const User user, identity_.Of(context->peer()));
  OR_RETURN_GRPC(const Job job, Find(user, request->name()));
  OR_RETURN_GRPC(const int size, PageSize(request->page_size(), 200, kMaxPage));
  uint64_t after = 0;
  if (!request->page_token().empty() && (after = JobNumber(request->page_token())) == 0) {
    return BadField("page_token", "is not one that this service gave");
  }
  OR_RETURN_GRPC(const auto lines, controller_.store().JobLog(job.id, after, size));
  for (const Store::LogLine& line : lines) *response->add_events() = ToWire(line);
  if (static_cast<int>(lines.size()) == size) response->set_next_page_token(std::to_string(lines.back().revision));
  return grpc::Status::OK;
}

grpc::Status JobsService::WatchJob(grpc::ServerContext* context, const v1::WatchJobRequest* request,
                                   grpc::ServerWriter<v1::Job>* writer) {
  OR_RETURN_GRPC(const User user, identity_.Of(context->peer()));
  OR_RETURN_GRPC(Job job, Find(user, request->name()));
  if (streams_.fetch_add(1) >= kMaxStreams) {
    --streams_;
    return ToGrpc(absl::ResourceExhaustedError("too many watchers; ask for the job now and then instead"));
  }
  ChangeFeed::Watch watch(changes_, job.id);
  grpc::Status status = grpc::Status::OK;
  std::string last;
  while (!context->IsCancelled()) {
    auto found = Find(user, request->name());
    if (!found.ok()) {
      status = ToGrpc(found.status());
      break;
    }
    const v1::Job shown = Show(*found);
    if (std::string bytes = shown.SerializeAsString(); bytes != last) {
      last = std::move(bytes);
      if (!writer->Write(shown)) break;
    }
    if (IsEnd(found->state)) break;
    if (watch.closed()) {
      status = ToGrpc(absl::UnavailableError("the daemon is stopping"));
      break;
    }
    watch.Wait(absl::Seconds(1));
  }
  --streams_;
  return status;
}

grpc::Status JobsService::ReadLogs(grpc::ServerContext* context, const v1::ReadLogsRequest* request,
                                   grpc::ServerWriter<v1::LogChunk>* writer) {
  OR_RETURN_GRPC(const User user, identity_.Of(context->peer()));
  OR_RETURN_GRPC(const Job job, Find(user, request->name()));
  const uint32_t run = request->run() == 0 ? job.run : request->run();
  if (run == 0 || run > job.run) {
    return ToGrpc(absl::FailedPreconditionError(absl::StrCat("jobs/", job.id.value, " has not run",
                                                             request->run() ? " so often" : " yet")));
  }
  std::vector<std::pair<int32_t, std::unique_ptr<LogRelay::Reading>>> readings;
  for (const Task& task : job.tasks) {
    if (request->rank() >= 0 && task.rank != request->rank()) continue;
    v1::ReadLog what;
    *what.mutable_key() = ToWire({job.id, run, task.rank});
    what.set_errors(request->errors());
    what.set_follow(request->follow() && run == job.run);
    what.set_tail_lines(request->tail_lines());
    OR_RETURN_GRPC(auto reading, logs_.Read(NameOf(task.node), what));
    readings.emplace_back(task.rank, std::move(reading));
  }
  if (readings.empty()) {
    return ToGrpc(absl::NotFoundError(absl::StrCat("jobs/", job.id.value, " has no rank ", request->rank(), "; it has ",
                                                   job.tasks.size())));
  }
  if (streams_.fetch_add(1) >= kMaxStreams) {
    --streams_;
    return ToGrpc(absl::ResourceExhaustedError("too many logs are being read; try again in a moment"));
  }
  grpc::Status status = grpc::Status::OK;
  while (!readings.empty() && !context->IsCancelled() && status.ok()) {
    for (auto it = readings.begin(); it != readings.end() && status.ok();) {
      LogRelay::Reading::Chunk chunk;
      // With several ranks, none waits long for another.
      if (!it->second->Next(chunk, absl::Milliseconds(readings.size() == 1 ? 200 : 20))) {
        ++it;
        continue;
      }
      if (!chunk.data.empty()) {
        v1::LogChunk out;
        out.set_rank(it->first);
        out.set_run(run);
        out.set_errors(request->errors());
        out.set_data(std::move(chunk.data));
        if (!writer->Write(out)) status = {grpc::StatusCode::CANCELLED, "the reader went away"};
      }
      if (!chunk.error.empty()) status = ToGrpc(absl::UnavailableError(chunk.error));
      it = chunk.end ? readings.erase(it) : std::next(it);
    }
  }
  --streams_;
  return status;
}

}  // namespace sinew
