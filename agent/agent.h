// SPDX-License-Identifier: Apache-2.0
// The node daemon around its session: one loop that owns the session and carries out what it says, with the stream to
// the daemon, the launcher's socket, the tasks' runtime socket and the logs at its sides.
//
// The agent decides nothing and needs no privilege. Its end leaves tasks alone; the next agent takes them over from the
// launcher.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "agent/controller_client.h"
#include "agent/launcher_link.h"
#include "agent/log_server.h"
#include "agent/mailbox.h"
#include "agent/runtime_server.h"
#include "agent/session/session.h"
#include "agent/task_start.h"

namespace sinew::agent {

struct AgentOptions {
  std::string controller;  // the daemon's socket
  std::string launcher;    // the launcher's socket
  NodeFacts facts;         // whose runtime_socket the agent makes
};

class Agent {
 public:
  explicit Agent(AgentOptions options);
  ~Agent();

  // Until SIGTERM or SIGINT is read from `signal_fd` (OK), or until the daemon refuses the agent (FAILED_PRECONDITION).
  absl::Status Run(int signal_fd);

 private:
  void OnListed(const v1::LauncherReply& list);
  void OnReply(const v1::LauncherReply& reply);
  void OnLost(const std::string& why);
  void OpenSession(const v1::LauncherReply& list);
  void Do(Session::Out out);
  void TakeProgress();
  grpc::Status Admit(const Key& key, const std::string& token, uid_t uid);
  LogPlace PlaceOf(const Note& note, bool errors) const;
  LogPlace Locate(const Key& key, bool errors);

  AgentOptions options_;
  Mailbox mailbox_;
  LauncherLink launcher_;
  RuntimeServer runtime_;
  std::string log_dir_;
  std::unique_ptr<Session> session_;           // from the launcher's first list on
  std::unique_ptr<ControllerClient> daemon_;   // as long as the session
  std::unique_ptr<LogServer> logs_;
  uint64_t stream_ = 0;                        // that is open; 0 = none
  std::string refused_;
};

}  // namespace sinew::agent
