// SPDX-License-Identifier: Apache-2.0
#include "cli/render.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/json.h"
#include "spec/job_file.h"
#include "spec/reason_text.h"

namespace sinew::cli {
namespace {

template <typename... Args>
std::string Printf(const char* format, Args... args) {
  char text[256];
  std::snprintf(text, sizeof(text), format, args...);
  return text;
}

std::string Utc(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0) return "<unset>";
  const time_t seconds = time.seconds();
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string Age(const google::protobuf::Timestamp& since, const View& view) {
  return since.seconds() == 0 ? "<unset>" : FormatElapsed(view.now_ns - ToNs(since));
}

std::string Nodes(const v1::Job& job) {
  std::set<std::string> names;
  for (const auto& task : job.tasks()) {
    if (!task.node().empty()) names.insert(task.node());
  }
  std::string out;
  int shown = 0;
  for (const std::string& name : names) {
    if (++shown == 4 && names.size() > 4) return out + ",+" + std::to_string(names.size() - 3);
    out += (out.empty() ? "" : ",") + name;
  }
  return out;
}

std::string Info(const v1::Job& job) {
  if (job.state() == v1::RUNNING || job.state() == v1::STOPPING) {
    const v1::Progress& p = job.progress();
    if (p.total_steps() > 0) return std::to_string(p.step()) + "/" + std::to_string(p.total_steps());
    return "<none>";
  }
  return job.reasons().empty() ? "<none>" : ReasonName(job.reasons(0).code());
}

std::string Energy(const v1::Job& job) {
  return Printf("%.0f J", static_cast<double>(job.energy_millijoules()) / 1000) +
         (job.energy_source().empty() ? "" : " (" + EscapeControl(job.energy_source()) + ")");
}

std::string NodeStateName(v1::NodeState state) {
  const std::string& name = v1::NodeState_Name(state);
  return name.empty() ? "STATE_" + std::to_string(static_cast<int>(state)) : name;
}

// "UP", "UP,DRAINING": what its agent makes of it, and what an operator wants.
std::string NodeStateText(const v1::Node& node) {
  std::string text = NodeStateName(node.state());
  if (node.cordoned()) text += !node.draining() ? ",CORDONED" : node.tasks() > 0 ? ",DRAINING" : ",DRAINED";
  return text;
}

// "v100:8,cpu-slot:2".
std::string Devices(const v1::NodeInfo& info) {
  std::map<std::string, int> counts;
  for (const auto& d : info.devices()) ++counts[d.type()];
  std::string out;
  for (const auto& [type, count] : counts) out += (out.empty() ? "" : ",") + type + ":" + std::to_string(count);
  return out;
}

std::string Indented(const std::string& text, const std::string& margin) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out += margin + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return out;
}

std::string Line(const std::string& label, const std::string& value) {
  return label + ":" + std::string(label.size() < 12 ? 12 - label.size() : 1, ' ') + value + "\n";
}

// The message of a single thing in the formats for machines; "" for people's formats.
std::string Machine(const google::protobuf::Message& message, const std::string& name, const View& view) {
  if (view.format == Format::kJson) return ToJson(message);
  if (view.format == Format::kYaml) return ToYaml(message);
  return view.format == Format::kName ? name + "\n" : "";
}

}  // namespace

int64_t ToNs(const google::protobuf::Timestamp& time) { return time.seconds() * 1'000'000'000 + time.nanos(); }

std::string JobList(const v1::ListJobsResponse& jobs, const View& view) {
  if (view.format == Format::kName) {
    std::string out;
    for (const v1::Job& job : jobs.jobs()) out += job.name() + "\n";
    return out;
  }
  if (view.format == Format::kJson || view.format == Format::kYaml) return Machine(jobs, "", view);
  const bool wide = view.format == Format::kWide;
  std::vector<std::string> headers = {"NAME", "STATE", "USER", "WORKERS", "NODES", "INFO", "AGE"};
  if (wide) headers = {"NAME", "TITLE", "KIND", "STATE", "USER", "WORKERS", "NODES", "RUN", "QUEUE", "ENERGY", "INFO", "AGE"};
  Table table(headers);
  for (const v1::Job& job : jobs.jobs()) {
    const std::string workers = std::to_string(job.spec().workers().max()), age = Age(job.submitted(), view);
    if (wide) {
      table.Add({job.name(), job.spec().name(), job.spec().kind() == v1::TRAIN ? "train" : "command",
                 StateName(job.state()), job.user(), workers, Nodes(job), std::to_string(job.run()), job.spec().queue(),
                 Printf("%.0fJ", static_cast<double>(job.energy_millijoules()) / 1000), Info(job), age});
    } else {
      table.Add({job.name(), StateName(job.state()), job.user(), workers, Nodes(job), Info(job), age});
    }
  }
  return table.Text(view.width);
}

std::string NodeList(const v1::ListNodesResponse& nodes, const View& view) {
  if (view.format == Format::kName) {
    std::string out;
    for (const v1::Node& node : nodes.nodes()) out += node.name() + "\n";
    return out;
  }
  if (view.format == Format::kJson || view.format == Format::kYaml) return Machine(nodes, "", view);
  const bool wide = view.format == Format::kWide;
  std::vector<std::string> headers = {"NAME", "STATE", "POOL", "CPUS", "MEMORY", "DEVICES", "FREE", "JOBS", "HEARD"};
  if (wide) headers.insert(headers.end() - 1, {"CPU-MODEL", "CGROUP", "VERSION", "ADDRESS", "DESCRIBED"});
  Table table(headers);
  for (const v1::Node& node : nodes.nodes()) {
    const v1::NodeInfo& info = node.info();
    std::vector<std::string> row = {
        node.name(), NodeStateText(node), node.pool(),
        FormatCpus(node.free_milli_cpus()) + "/" + FormatCpus(info.milli_cpus()),
        FormatBytesShort(node.free_memory_bytes()) + "/" + FormatBytesShort(info.memory_bytes()), Devices(info),
        std::to_string(node.free_devices()), std::to_string(node.jobs_size())};
    if (wide) {
      std::string model = info.cpu_model();
      std::replace(model.begin(), model.end(), ' ', '_');
      row.insert(row.end(), {model, info.cgroup(), info.agent_version(), info.address(), info.described() ? "yes" : "no"});
    }
    row.push_back(Age(node.last_heard(), view));
    table.Add(row);
  }
  return table.Text(view.width);
}

std::string ProgressText(const v1::Progress& p) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (p.total_steps() > 0) {
    add(Printf("step %lld/%lld (%lld%%)", static_cast<long long>(p.step()), static_cast<long long>(p.total_steps()),
               static_cast<long long>(p.step() * 100 / p.total_steps())));
  } else if (p.step() > 0) {
    add("step " + std::to_string(p.step()));
  }
  if (p.total_epochs() > 0) add(Printf("epoch %.2f/%d", p.epoch(), p.total_epochs()));
  if (p.step() > 0) add(Printf("loss %.4f", p.loss()));
  if (p.items_per_second() > 0) add(Printf("%.0f images/s", p.items_per_second()));
  if (p.has_accuracy()) add(Printf("accuracy %.4f", p.accuracy()));
  return out;
}

std::string JobPage(const v1::Job& job, const v1::ListJobEventsResponse& events, const View& view) {
  if (std::string text = Machine(job, job.name(), view); !text.empty()) return text;
  std::string out = Line("Name", job.name() + (job.spec().name().empty() ? "" : "  " + EscapeControl(job.spec().name())));
  out += Line("User", EscapeControl(job.user()) + " (" + std::to_string(job.uid()) + ")");
  out += Line("State", StateName(job.state()) + ", since " + Utc(job.state_since()) + " (" + Age(job.state_since(), view) + ")");
  for (const v1::Reason& reason : job.reasons()) out += Line("Reason", ReasonName(reason.code()) + ": " + ReasonText(reason));
  if (IsEnd(job.state())) out += Line("Exit code", std::to_string(job.exit_code()));
  out += Line("Submitted", Utc(job.submitted()));
  if (job.run() > 0) out += Line("Run", std::to_string(job.run()) + ", started " + Utc(job.started()));
  if (job.has_ended()) out += Line("Ended", Utc(job.ended()));
  if (const std::string progress = ProgressText(job.progress()); !progress.empty()) out += Line("Progress", progress);
  if (!job.progress().checkpoint().empty()) out += Line("Checkpoint", EscapeControl(job.progress().checkpoint()));
  if (job.energy_millijoules() > 0) out += Line("Energy", Energy(job));
  out += "Spec:\n" + Indented(FormatJobFile(job.spec()), "  ");
  if (!job.tasks().empty()) {
    Table table({"RANK", "NODE", "STATE", "DEVICES", "STEP", "EXIT"});
    for (const v1::TaskStatus& task : job.tasks()) {
      std::string devices, exit;
      for (const int d : task.devices()) devices += (devices.empty() ? "" : ",") + std::to_string(d);
      if (task.signal() != 0) {
        exit = "signal:" + std::to_string(task.signal());
      } else if (task.state() == "exited") {
        exit = std::to_string(task.exit_code());
      }
      table.Add({std::to_string(task.rank()), task.node(), task.state(), devices, std::to_string(task.progress().step()), exit});
    }
    out += "Tasks:\n" + Indented(table.Text(), "  ");
  }
  if (!events.events().empty()) {
    out += "Events:\n";
    for (const v1::JobEvent& event : events.events()) {
      out += "  " + Utc(event.at()) + "  " + StateName(event.state());
      if (event.run() > 0) out += "  run " + std::to_string(event.run());
      if (!event.text().empty()) out += "  " + EscapeControl(event.text());
      if (event.reason().code() != v1::REASON_UNSPECIFIED) out += "  " + ReasonText(event.reason());
      out += "\n";
    }
  }
  if (!job.log_tail().empty()) {
    out += "Last lines of the log:\n";
    for (const std::string& line : job.log_tail()) out += "  " + EscapeControl(line) + "\n";
  }
  return out;
}

std::string NodePage(const v1::Node& node, const View& view) {
  if (std::string text = Machine(node, node.name(), view); !text.empty()) return text;
  const v1::NodeInfo& info = node.info();
  std::string out = Line("Name", EscapeControl(node.name()));
  out += Line("State", NodeStateText(node) + ", last heard " + Age(node.last_heard(), view) + " ago");
  if (node.cordoned()) {
    out += Line(node.draining() ? "Drained" : "Cordoned", "by " + EscapeControl(node.cordoned_by()) + " since " +
                Utc(node.cordoned_since()) + (node.cordon_reason().empty() ? "" : ": " + EscapeControl(node.cordon_reason())));
    if (node.has_drain_deadline()) out += Line("Deadline", Utc(node.drain_deadline()));
  }
  out += Line("Pool", EscapeControl(node.pool()));
  out += Line("Host", EscapeControl(info.hostname()) + (info.described() ? " (hardware described, not measured)" : ""));
  if (!info.address().empty()) out += Line("Address", EscapeControl(info.address()));
  if (!info.cpu_model().empty()) out += Line("CPU", EscapeControl(info.cpu_model()));
  out += Line("CPUs", FormatCpus(info.milli_cpus()) + ", " + FormatCpus(node.free_milli_cpus()) + " free");
  out += Line("Memory", FormatBytesShort(info.memory_bytes()) + ", " + FormatBytesShort(node.free_memory_bytes()) + " free");
  if (!info.knl_cluster_mode().empty()) {
    out += Line("KNL", EscapeControl(info.knl_cluster_mode() + " " + info.knl_memory_mode() + " (" + info.knl_mode_source() + ")"));
  }
  if (!info.cgroup().empty()) out += Line("Cgroups", EscapeControl(info.cgroup()));
  std::string jobs;
  for (const uint64_t id : node.jobs()) jobs += (jobs.empty() ? "jobs/" : " jobs/") + std::to_string(id);
  out += Line("Jobs", jobs.empty() ? "<none>" : jobs);
  if (info.devices().empty()) return out;
  Table table({"INDEX", "TYPE", "MEMORY", "NUMA", "ISLAND", "STATE"});
  for (const v1::DeviceInfo& d : info.devices()) {
    table.Add({std::to_string(d.index()), d.type(), FormatBytesShort(d.memory_bytes()), std::to_string(d.numa_node()),
               std::to_string(d.island()), d.state()});
  }
  return out + "Devices:\n" + Indented(table.Text(), "  ");
}

std::string ExplainPage(const v1::ExplainJobResponse& explained, const View& view) {
  const v1::Job& job = explained.job();
  if (std::string text = Machine(explained, job.name(), view); !text.empty()) return text;
  std::string out = job.name() + " is " + StateName(job.state()) + " since " + Utc(job.state_since()) + " (" +
                    Age(job.state_since(), view) + ").\n";
  const bool waits = job.state() == v1::PENDING;
  if (waits && job.run() > 0) out += "It ran " + std::to_string(job.run()) + (job.run() == 1 ? " time" : " times") + " already.\n";
  if (!job.reasons().empty()) {
    out += waits ? "What it waits for:\n" : "Why:\n";
    for (const v1::Reason& reason : job.reasons()) {
      out += "  " + ReasonName(reason.code()) + ": " + ReasonText(reason) + "\n";
      if (const std::string hint = ReasonHint(reason); !hint.empty()) out += "    " + hint + "\n";
    }
  }
  if (waits) {
    if (explained.position() > 0) {
      out += "Position: " + std::to_string(explained.position()) + ", " + std::to_string(explained.ahead()) +
             (explained.ahead() == 1 ? " job ahead.\n" : " jobs ahead.\n");
    }
    out += "Nodes that could hold a worker when empty: " + std::to_string(explained.nodes_fitting_when_empty()) + ".\n";
  }
  if (!explained.would_help().empty()) {
    out += "What would help now:\n";
    for (const std::string& text : explained.would_help()) out += "  " + EscapeControl(text) + "\n";
  }
  return out;
}

std::string EndText(const v1::Job& job) {
  std::string out = job.name() + " " + StateName(job.state());
  if (job.has_ended() && job.has_submitted()) {
    out += (job.state() == v1::COMPLETED ? " in " : " after ") + FormatElapsed(ToNs(job.ended()) - ToNs(job.submitted()));
  }
  if (job.state() != v1::COMPLETED && !job.reasons().empty()) out += ": " + ReasonText(job.reasons(0));
  out += "\n";
  if (job.state() != v1::COMPLETED) {
    for (const std::string& line : job.log_tail()) out += "  | " + EscapeControl(line) + "\n";
  }
  if (job.run() > 1) out += "  runs           " + std::to_string(job.run()) + "\n";
  if (job.progress().has_accuracy()) out += Printf("  test accuracy  %.4f\n", job.progress().accuracy());
  if (job.energy_millijoules() > 0) out += "  energy         " + Energy(job) + "\n";
  if (!job.progress().checkpoint().empty()) out += "  checkpoint     " + EscapeControl(job.progress().checkpoint()) + "\n";
  return out;
}

absl::StatusOr<std::string> JobName(const std::string& text) {
  const std::string id = text.rfind("jobs/", 0) == 0 ? text.substr(5) : text;
  if (id.empty() || id.size() > 19 || id.find_first_not_of("0123456789") != std::string::npos) {
    return absl::InvalidArgumentError("\"" + EscapeControl(text) + "\" is not a job; write its number, such as 12 or jobs/12");
  }
  return "jobs/" + id;
}

std::string NodeName(const std::string& text) { return text.rfind("nodes/", 0) == 0 ? text : "nodes/" + text; }

}  // namespace sinew::cli
