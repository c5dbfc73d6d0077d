// SPDX-License-Identifier: Apache-2.0
// A job while it runs, on stderr: redrawn in place on a terminal, otherwise a line when something changed, at most one a
// second. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "proto/sinew/v1/job.pb.h"

namespace sinew::cli {

class FollowView {
 public:
  FollowView(bool terminal, size_t width) : terminal_(terminal), width_(width) {}

  // `away`: the daemon does not answer at the moment.
  void Show(const v1::Job& job, bool away, int64_t wall_ns, int64_t mono_ns);
  // What is drawn stays; later output begins below it.
  void Close();

 private:
  std::string Eta(const v1::Job& job, int64_t mono_ns);
  void Redraw(const v1::Job& job, bool away, int64_t wall_ns, const std::string& eta);
  void Line(const v1::Job& job, bool away, int64_t mono_ns, const std::string& eta);

  const bool terminal_;
  const size_t width_;
  int drawn_lines_ = 0;
  int64_t shown_ns_ = 0;
  std::string state_line_, progress_line_;
  bool was_away_ = false;
  uint32_t run_ = 0;          // the steps below belong to it
  int64_t first_step_ = -1, first_ns_ = 0;
};

}  // namespace sinew::cli
