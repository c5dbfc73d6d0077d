// SPDX-License-Identifier: Apache-2.0
// Verbs that change jobs and nodes that are there.
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "base/status_macros.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "spec/reason_text.h"

namespace sinew::cli {
namespace {

// Does it to each job named. One that cannot be done does not keep the others from it, and gives the exit status.
absl::StatusOr<int> EachJob(const Options& options, const std::function<absl::StatusOr<v1::Job>(Client&, const std::string&)>& act,
                            const std::function<std::string(const v1::Job&)>& done) {
  Client client(FindSocket(options));
  absl::Status failed;
  for (const std::string& text : options.names) {
    ASSIGN_OR_RETURN(const std::string name, JobName(text));
    const auto job = act(client, name);
    if (!job.ok()) {
      if (options.names.size() == 1) return job.status();
      std::fprintf(stderr, "sinew: %s: %s\n", name.c_str(), ErrorLine(job.status()).c_str());
      if (failed.ok()) failed = job.status();
    } else if (options.format == Format::kTable || options.format == Format::kWide) {
      Print(name + " " + done(*job) + "\n");
    } else {
      Print(JobPage(*job, {}, ViewOf(options)));
    }
  }
  return ExitCodeOf(failed);
}

void ShowNode(const Options& options, const v1::Node& node, const std::string& done) {
  const bool people = options.format == Format::kTable || options.format == Format::kWide;
  Print(people ? node.name() + " " + done + "\n" : NodePage(node, ViewOf(options)));
}

std::string Left(const v1::Node& node) {
  std::string text = std::to_string(node.tasks()) + (node.tasks() == 1 ? " process" : " processes") + " left";
  for (int i = 0; i < node.jobs_size() && i < 8; ++i) text += (i == 0 ? " of jobs/" : ", jobs/") + std::to_string(node.jobs(i));
  return text + (node.jobs_size() > 8 ? " and more" : "");
}

}  // namespace

absl::StatusOr<int> Cancel(const Options& options) {
  return EachJob(options, [](Client& client, const std::string& name) { return client.Cancel(name); },
                 [](const v1::Job& job) { return IsEnd(job.state()) ? "cancelled" : "is being cancelled"; });
}

absl::StatusOr<int> Hold(const Options& options) {
  return EachJob(options, [](Client& client, const std::string& name) { return client.Hold(name); },
                 [](const v1::Job&) { return "held"; });
}

absl::StatusOr<int> Release(const Options& options) {
  return EachJob(options, [](Client& client, const std::string& name) { return client.Release(name); },
                 [](const v1::Job&) { return "released"; });
}

absl::StatusOr<int> Requeue(const Options& options) {
  return EachJob(options, [&](Client& client, const std::string& name) { return client.Requeue(name, options.hold); },
                 [&](const v1::Job& job) {
                   if (job.state() == v1::PENDING) return options.hold ? "waits, held" : "waits";
                   return options.hold ? "is being stopped, to be held" : "is being stopped, to wait again";
                 });
}

absl::StatusOr<int> NodeCordon(const Options& options) {
  Client client(FindSocket(options));
  ASSIGN_OR_RETURN(const v1::Node node, client.Cordon(NodeName(options.names.at(0)), options.reason));
  ShowNode(options, node, "cordoned");
  return kDone;
}

absl::StatusOr<int> NodeResume(const Options& options) {
  Client client(FindSocket(options));
  ASSIGN_OR_RETURN(const v1::Node node, client.Resume(NodeName(options.names.at(0))));
  ShowNode(options, node, "takes work again");
  return kDone;
}

absl::StatusOr<int> NodeDrain(const Options& options) {
  Client client(FindSocket(options));
  v1::DrainNodeRequest request;
  request.set_name(NodeName(options.names.at(0)));
  request.set_reason(options.reason);
  request.set_force(options.force);
  if (options.deadline_ns >= 0) request.set_deadline_ns(options.deadline_ns);
  ASSIGN_OR_RETURN(v1::Node node, client.Drain(request));
  std::string said;
  while (!options.no_wait && node.tasks() > 0) {
    if (!node.draining()) {
      ShowNode(options, node, "is drained no longer: it was resumed");
      return kNegative;
    }
    if (const std::string left = Left(node); left != said) std::fprintf(stderr, "%s: %s\n", node.name().c_str(), left.c_str());
    said = Left(node);
    ::usleep(500'000);
    ASSIGN_OR_RETURN(node, client.GetNode(node.name()));
  }
  ShowNode(options, node, node.tasks() > 0 ? "is draining" : "drained");
  return kDone;
}

}  // namespace sinew::cli
