// SPDX-License-Identifier: Apache-2.0
// What the command line said, and the terminal it came from.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/render.h"

namespace sinew::cli {

struct Options {
  // everywhere
  std::string socket;               // --socket
  std::string dir;                  // --dir: of an embedded cluster
  Format format = Format::kTable;
  bool watch = false;

  std::vector<std::string> names;   // jobs or nodes

  // submit, run
  std::string file;
  std::vector<std::string> command;                       // after "--"
  std::vector<std::string> sets;                          // "a.b=c"
  std::vector<std::string> exports;                       // variables to copy
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>> flags;  // flag, (key path, value)
  bool dry_run = false;
  bool parsable = false;
  bool check_paths = true;

  // jobs
  bool all = false;
  bool all_users = false;

  // logs
  int rank = -1;
  uint32_t attempt = 0;
  bool follow = false;
  bool errors = false;
  int64_t tail = 0;

  // wait
  int64_t timeout_ns = 0;
  std::string wait_for;             // "", "done", "running", "state=X"

  bool wait = false;                // submit: until it ended

  bool hold = false;                // requeue

  std::string config = "/etc/sinew/sinewd.yaml";  // admin restore

  // node cordon, node drain
  std::string reason;
  int64_t deadline_ns = -1;         // below 0 = none
  bool force = false;
  bool no_wait = false;

  // up, down
  int nodes = 0;                    // 0 = not given
  std::string hardware;
  bool keep_jobs = false;
};

bool IsTerminal(int fd);
// Columns of the terminal on stdout; 0 when it is none.
size_t TerminalWidth();
// --socket, SINEW_SOCKET, --dir, the embedded cluster's, /run/sinew/sinewd.sock: the first that there is.
std::string FindSocket(const Options& options);

}  // namespace sinew::cli
