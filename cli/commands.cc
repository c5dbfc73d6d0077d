// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>

#include "base/clock.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/client.h"
#include "cli/exit_code.h"
#include "cli/follow.h"
#include "cli/json.h"
#include "cli/spec_builder.h"
#include "spec/job_file.h"
#include "spec/reason_text.h"

namespace sinew::cli {
namespace {

constexpr int64_t kPatienceNs = 60'000'000'000;

// Once; or with --watch again whenever it changed, on a terminal in place of what was there.
absl::StatusOr<int> Show(const Options& options, const std::function<absl::StatusOr<std::string>(const View&)>& render) {
  std::string last;
  for (;;) {
    ASSIGN_OR_RETURN(const std::string text, render(ViewOf(options)));
    if (!options.watch) {
      Print(text);
      return kDone;
    }
    if (text != last) Print((TerminalWidth() > 0 ? "\x1b[H\x1b[2J" : "") + text);
    last = text;
    ::usleep(1'000'000);
  }
}

// Waits until the job is in one of `good`, or ended otherwise.
struct Goal {
  std::set<v1::JobState> good;
};

absl::StatusOr<Goal> ParseGoal(const std::string& text) {
  if (text.empty() || text == "done") return Goal{{v1::COMPLETED}};
  if (text == "running") return Goal{{v1::RUNNING, v1::COMPLETED}};  // one that ran and is done did run
  const auto* states = v1::JobState_descriptor();
  std::vector<std::string> words = {"running", "done"};
  for (int i = 0; i < states->value_count(); ++i) {
    if (states->value(i)->number() == 0) continue;
    words.push_back("state=" + std::string(states->value(i)->name()));
    if (text == words.back()) return Goal{{static_cast<v1::JobState>(states->value(i)->number())}};
  }
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return absl::InvalidArgumentError("--for: \"" + EscapeControl(text) + "\" is none of " + all);
}

// The job as it was then. DEADLINE_EXCEEDED at `limit` (MonoNs), with its state.
absl::StatusOr<v1::Job> WaitFor(Client& client, const std::string& name, const Goal& goal, int64_t limit) {
  v1::Job job;
  int64_t heard = 0, pause_ms = 100;
  const auto over = [&] { return heard > 0 && (IsEnd(job.state()) || goal.good.count(job.state()) > 0); };
  while (!over()) {
    const int64_t left = limit - MonoNs();
    const absl::Status status = left <= 0 ? absl::DeadlineExceededError("")
                                          : client.Watch(name, limit == INT64_MAX ? 0 : left, [&](const v1::Job& news) {
                                              job = news;
                                              heard = MonoNs();
                                              pause_ms = 100;
                                              return !over();
                                            });
    if (over()) break;
    if (MonoNs() >= limit) return absl::DeadlineExceededError(name + " is still " + StateName(job.state()));
    // A daemon that was there and went away may be back soon.
    if (!status.ok() && (status.code() != absl::StatusCode::kUnavailable || heard == 0 || MonoNs() - heard > kPatienceNs)) {
      return status;
    }
    ::usleep(static_cast<useconds_t>(std::clamp<int64_t>((limit - MonoNs()) / 1'000'000, 0, pause_ms) * 1000));
    pause_ms = std::min<int64_t>(pause_ms * 2, 2000);
  }
  return job;
}

std::string Id(const v1::Job& job) { return job.name().substr(job.name().find('/') + 1); }

}  // namespace

void Print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

View ViewOf(const Options& options) { return View{options.format, WallNs(), TerminalWidth()}; }

absl::StatusOr<int> Submit(const Options& options) {
  ASSIGN_OR_RETURN(const v1::JobSpec spec, BuildSpec(options, options.dry_run));
  Client client(FindSocket(options));
  ASSIGN_OR_RETURN(const v1::Job job, client.Submit(spec, options.dry_run));
  if (options.dry_run) {
    Print(options.format == Format::kJson ? ToJson(job) : FormatJobFile(job.spec()));
  } else if (options.parsable) {
    Print(Id(job) + "\n");
  } else if (options.format == Format::kTable || options.format == Format::kWide) {
    Print(job.name() + " submitted\n");
  } else {
    Print(JobPage(job, {}, ViewOf(options)));
  }
  if (!options.wait || options.dry_run) return kDone;
  const auto ended = WaitFor(client, job.name(), Goal{}, INT64_MAX);
  if (!ended.ok()) {
    std::fprintf(stderr, "sinew: %s\n", ErrorLine(ended.status()).c_str());
    return kFollowFailed;
  }
  if (ended->state() != v1::COMPLETED && !ended->reasons().empty()) {
    std::fprintf(stderr, "sinew: %s %s: %s\n", job.name().c_str(), StateName(ended->state()).c_str(),
                 ReasonText(ended->reasons(0)).c_str());
  }
  return ExitCodeOfJob(*ended);
}

absl::StatusOr<int> Run(const Options& options) {
  ASSIGN_OR_RETURN(const v1::JobSpec spec, BuildSpec(options, options.dry_run));
  if (options.dry_run) return Submit(options);
  // Threads that follow may outlive this call.
  auto& client = *new Client(FindSocket(options));
  ASSIGN_OR_RETURN(const v1::Job job, client.Submit(spec, false));
  auto code = Follow(client, job);
  if (code.ok()) return code;
  std::fprintf(stderr, "sinew: %s\n", ErrorLine(code.status()).c_str());
  return kFollowFailed;
}

absl::StatusOr<int> Jobs(const Options& options) {
  Client client(FindSocket(options));
  return Show(options, [&](const View& view) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const auto jobs, client.ListJobs(options.all_users, options.all));
    return JobList(jobs, view);
  });
}

absl::StatusOr<int> JobShow(const Options& options) {
  ASSIGN_OR_RETURN(const std::string name, JobName(options.names.at(0)));
  Client client(FindSocket(options));
  return Show(options, [&](const View& view) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const v1::Job job, client.GetJob(name));
    v1::ListJobEventsResponse events;
    if (view.format == Format::kTable || view.format == Format::kWide) {
      ASSIGN_OR_RETURN(events, client.ListJobEvents(name));
    }
    return JobPage(job, events, view);
  });
}

absl::StatusOr<int> Explain(const Options& options) {
  ASSIGN_OR_RETURN(const std::string name, JobName(options.names.at(0)));
  Client client(FindSocket(options));
  return Show(options, [&](const View& view) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const auto explained, client.Explain(name));
    return ExplainPage(explained, view);
  });
}

absl::StatusOr<int> Logs(const Options& options) {
  ASSIGN_OR_RETURN(const std::string name, JobName(options.names.at(0)));
  Client client(FindSocket(options));
  ASSIGN_OR_RETURN(const v1::Job job, client.GetJob(name));
  v1::ReadLogsRequest request;
  request.set_name(name);
  request.set_rank(options.rank);
  request.set_run(options.attempt);
  request.set_follow(options.follow);
  request.set_errors(options.errors);
  request.set_tail_lines(options.tail);
  LogPrinter printer(options.rank < 0 && job.spec().workers().max() > 1, STDOUT_FILENO);
  RETURN_IF_ERROR(client.ReadLogs(request, [&](const v1::LogChunk& chunk) {
    printer.Take(chunk);
    return true;
  }));
  printer.Finish();
  return kDone;
}

absl::StatusOr<int> Wait(const Options& options) {
  ASSIGN_OR_RETURN(const Goal goal, ParseGoal(options.wait_for));
  Client client(FindSocket(options));
  const int64_t limit = options.timeout_ns > 0 ? MonoNs() + options.timeout_ns : INT64_MAX;
  int code = kDone;
  for (const std::string& text : options.names) {
    ASSIGN_OR_RETURN(const std::string name, JobName(text));
    const auto job = WaitFor(client, name, goal, limit);
    if (job.status().code() == absl::StatusCode::kDeadlineExceeded) {
      return absl::DeadlineExceededError(std::string(job.status().message()) + " after " + FormatDuration(options.timeout_ns));
    }
    RETURN_IF_ERROR(job.status());
    if (options.format == Format::kTable || options.format == Format::kWide) {
      std::string line = name + " " + StateName(job->state());
      if (job->state() != v1::COMPLETED && !job->reasons().empty()) line += ": " + ReasonText(job->reasons(0));
      Print(line + "\n");
    } else {
      Print(JobPage(*job, {}, ViewOf(options)));
    }
    if (!goal.good.count(job->state())) code = kNegative;
  }
  return code;
}

absl::StatusOr<int> Nodes(const Options& options) {
  Client client(FindSocket(options));
  return Show(options, [&](const View& view) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const auto nodes, client.ListNodes());
    return NodeList(nodes, view);
  });
}

absl::StatusOr<int> NodeShow(const Options& options) {
  const std::string name = NodeName(options.names.at(0));
  Client client(FindSocket(options));
  return Show(options, [&](const View& view) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const v1::Node node, client.GetNode(name));
    return NodePage(node, view);
  });
}

absl::StatusOr<int> Version(const Options& options) {
  Client client(FindSocket(options));
  const auto server = client.GetVersion();
  if (options.format == Format::kJson || options.format == Format::kYaml) {
    RETURN_IF_ERROR(server.status());
    Print(options.format == Format::kJson ? ToJson(*server) : ToYaml(*server));
    return kDone;
  }
  Print(std::string("client  ") + kVersion + "\n");
  RETURN_IF_ERROR(server.status());
  Print("server  " + EscapeControl(server->version()) + ", API " + EscapeControl(server->api_version()) + ", policy " +
        EscapeControl(server->policy()) + "\nsocket  " + client.socket() + "\nyou     " +
        EscapeControl(server->caller_user()) + " (" + std::to_string(server->caller_uid()) + ")\n");
  if (!server->policy_error().empty()) {
    std::fprintf(stderr, "sinew: the policy failed, and fifo and pack decide in its place: %s\n",
                 EscapeControl(server->policy_error()).c_str());
  }
  if (server->version() != kVersion) std::fprintf(stderr, "sinew: client and server have different versions\n");
  return kDone;
}

absl::StatusOr<int> WhoAmI(const Options& options) {
  Client client(FindSocket(options));
  ASSIGN_OR_RETURN(const auto server, client.GetVersion());
  if (options.format == Format::kJson || options.format == Format::kYaml) {
    v1::GetVersionResponse caller;
    caller.set_caller_uid(server.caller_uid());
    caller.set_caller_user(server.caller_user());
    caller.set_caller_operator(server.caller_operator());
    Print(options.format == Format::kJson ? ToJson(caller) : ToYaml(caller));
  } else {
    Print(EscapeControl(server.caller_user()) + " (" + std::to_string(server.caller_uid()) + "), " +
          (server.caller_operator() ? "operator" : "user") + "\n");
  }
  return kDone;
}

}  // namespace sinew::cli
