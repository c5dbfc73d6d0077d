// SPDX-License-Identifier: Apache-2.0
// Where an embedded cluster (`sinew up`) keeps its things.
#pragma once

#include <string>

namespace sinew::cli {

struct Layout {
  std::string config;      // sinewd.yaml
  std::string marker;      // exists once there was a state
  std::string state_dir;   // of the daemon
  std::string data;        // folder of agents, spools and logs
  std::string run;         // folder of sockets and of the record of processes, 0700
  std::string socket;      // of the daemon
  std::string record;      // processes that run

  std::string Log(const std::string& process) const { return data + "/log/" + process + ".log"; }
  std::string AgentState(const std::string& node) const { return data + "/agent-" + node; }
  std::string Spool(const std::string& node) const { return data + "/spool-" + node; }
  std::string LauncherSocket(const std::string& node) const { return run + "/" + node + ".launcher"; }
};

// In the folder `dir`, or under the XDG folders when it is "". Unix sockets have short paths: where the run folder's
// would be too long, it is /tmp/sinew-<uid>-<hash of dir>.
Layout EmbeddedLayout(const std::string& dir);

}  // namespace sinew::cli
