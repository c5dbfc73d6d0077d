// SPDX-License-Identifier: Apache-2.0
#include "cli/follow_view.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/text.h"
#include "cli/render.h"
#include "spec/reason_text.h"

namespace sinew::cli {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int kMostWorkers = 16;

std::string StateLine(const v1::Job& job) {
  std::string out = job.name();
  if (!job.spec().name().empty()) out += " " + EscapeControl(job.spec().name());
  out += " " + StateName(job.state());
  if (job.run() > 1) out += " (run " + std::to_string(job.run()) + ")";
  std::set<std::string> nodes;
  for (const auto& task : job.tasks()) nodes.insert(task.node());
  if (job.state() == v1::RUNNING && !nodes.empty()) {
    out += " on";
    for (const std::string& node : nodes) out += " " + EscapeControl(node);
  }
  if (!job.reasons().empty()) out += ": " + ReasonText(job.reasons(0));
  return out;
}

std::string Bar(const v1::Progress& p) {
  constexpr int kCells = 24;
  const int full = p.total_steps() > 0 ? static_cast<int>(std::clamp<int64_t>(p.step() * kCells / p.total_steps(), 0, kCells)) : 0;
  return "[" + std::string(full, '#') + std::string(kCells - full, '.') + "]";
}

}  // namespace

std::string FollowView::Eta(const v1::Job& job, int64_t mono_ns) {
  const v1::Progress& p = job.progress();
  if (job.run() != run_ || p.step() < first_step_) {
    run_ = job.run();
    first_step_ = -1;
  }
  if (p.step() <= 0 || p.total_steps() <= 0 || job.state() != v1::RUNNING) return "";
  if (first_step_ < 0) {
    first_step_ = p.step();
    first_ns_ = mono_ns;
  }
  const double steps = static_cast<double>(p.step() - first_step_), seconds = static_cast<double>(mono_ns - first_ns_) / kSecond;
  if (steps <= 0 || seconds < 1) return "";
  return FormatElapsed(static_cast<int64_t>(static_cast<double>(p.total_steps() - p.step()) * seconds / steps * kSecond));
}

void FollowView::Show(const v1::Job& job, bool away, int64_t wall_ns, int64_t mono_ns) {
  const std::string eta = Eta(job, mono_ns);
  if (terminal_) {
    if (shown_ns_ != 0 && mono_ns - shown_ns_ < kSecond / 5) return;
    shown_ns_ = mono_ns;
    Redraw(job, away, wall_ns, eta);
  } else {
    Line(job, away, mono_ns, eta);
  }
}

void FollowView::Redraw(const v1::Job& job, bool away, int64_t wall_ns, const std::string& eta) {
  std::string text;
  int lines = 0;
  const auto add = [&](std::string line) {
    // A wrapped line would break the count of lines to go back over.
    if (width_ > 1 && line.size() >= width_) line.resize(width_ - 1);
    text += line + "\x1b[K\n";
    ++lines;
  };
  add(StateLine(job) + "  " + FormatElapsed(wall_ns - ToNs(job.submitted())) + (away ? "  (the daemon does not answer)" : ""));
  const v1::Progress& p = job.progress();
  if (p.total_steps() > 0) {
    add("  " + Bar(p) + " " + p.phase() + (eta.empty() ? "" : "  ETA " + eta));
    add("  " + ProgressText(p));
  }
  if (!job.tasks().empty()) {
    Table table({"RANK", "NODE", "STATE", "STEP", "IMAGES/S"});
    for (int i = 0; i < std::min(job.tasks_size(), kMostWorkers); ++i) {
      const v1::TaskStatus& task = job.tasks(i);
      char rate[32];
      std::snprintf(rate, sizeof(rate), "%.0f", task.progress().items_per_second());
      table.Add({std::to_string(task.rank()), task.node(), task.state(), std::to_string(task.progress().step()), rate});
    }
    const std::string rows = table.Text();
    for (size_t begin = 0; begin < rows.size();) {
      const size_t end = rows.find('\n', begin);
      add("  " + rows.substr(begin, end - begin));
      begin = end + 1;
    }
    if (job.tasks_size() > kMostWorkers) add("  and " + std::to_string(job.tasks_size() - kMostWorkers) + " more");
  }
  const std::string back = drawn_lines_ > 0 ? "\x1b[" + std::to_string(drawn_lines_) + "A" : "";
  std::fputs((back + "\r" + text + "\x1b[J").c_str(), stderr);
  std::fflush(stderr);
  drawn_lines_ = lines;
}

void FollowView::Line(const v1::Job& job, bool away, int64_t mono_ns, const std::string& eta) {
  if (away != was_away_) {
    std::fprintf(stderr, "%s: %s\n", job.name().c_str(), away ? "the daemon does not answer; trying again" : "the daemon answers again");
    was_away_ = away;
  }
  if (const std::string line = StateLine(job); line != state_line_) {
    state_line_ = line;
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  if (shown_ns_ != 0 && mono_ns - shown_ns_ < kSecond) return;
  const std::string progress = ProgressText(job.progress());
  if (progress.empty() || progress == progress_line_ || job.state() != v1::RUNNING) return;
  progress_line_ = progress;
  shown_ns_ = mono_ns;
  std::fprintf(stderr, "%s %s%s\n", job.name().c_str(), progress.c_str(), eta.empty() ? "" : (", ETA " + eta).c_str());
}

void FollowView::Close() { drawn_lines_ = 0; }

}  // namespace sinew::cli
