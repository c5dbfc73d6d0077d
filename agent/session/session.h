// SPDX-License-Identifier: Apache-2.0
// The agent's end of its stream to the daemon, and of the launcher's socket: a machine without I/O, threads or clocks.
// The shell (agent/agent.h) hands in what came and carries out what comes out, in order.
//
// Protocol (proto/sinew/v1/agent.proto): after the launcher listed its tasks the agent registers; after Welcome it takes
// in desired state and acts on it; each report is repeated until acknowledged. The launcher is the truth about
// processes: what it lists after the agent's or its own restart is taken over, and requests it lost are sent again.
//
// Times are nanoseconds of one clock that never goes back. Not thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/session/note.pb.h"
#include "proto/sinew/v1/agent.pb.h"
#include "proto/sinew/v1/launcher.pb.h"

namespace sinew::agent {

inline constexpr int64_t kRepeatNs = 5'000'000'000;  // what was not answered by then is said again

struct Key {
  uint64_t job = 0;
  uint32_t run = 0;
  int32_t rank = 0;
  auto operator<=>(const Key&) const = default;
};
Key KeyOf(const v1::TaskKey& key);
std::string TaskName(const Key& key);  // "<job>.<run>.<rank>", as the launcher knows it

class Session {
 public:
  // What the machine asks of the world. Must not call back into the machine.
  struct Hooks {
    std::function<int32_t()> free_port;   // a port nobody listens on now; 0 = none found
    std::function<std::string()> token;   // a secret nobody can guess
    // "" when the node can run it; otherwise why not.
    std::function<std::string(const v1::TaskBody&)> check;
    // The launcher's request for a task; `desired` holds the address of rank 0 once it is known.
    std::function<v1::StartTask(const Note&, const v1::DesiredTask& desired)> start;
    // The last lines that a task wrote, for a report of its failure.
    std::function<std::vector<std::string>(const Note&)> log_tail;
  };
  struct PeersFor {
    Key key;
    std::map<std::string, std::string> values;
  };
  struct Out {
    std::vector<v1::AgentMessage> send;
    std::vector<v1::LauncherRequest> launch;
    std::vector<PeersFor> peers;   // to tell tasks that wait at their rendezvous
    std::vector<Key> stopping;     // tasks to tell that they are being stopped
    std::vector<Key> ended;        // their logs grow no more
    bool reconnect = false;        // the daemon and the agent disagree: open the stream anew
    std::string refused;           // the daemon will not have this agent, and why
  };

  Session(std::string node, std::string session_id, v1::NodeInfo info, Hooks hooks);

  // The daemon.
  Out OnConnected(int64_t now_ns);
  void OnDisconnected();
  Out OnMessage(const v1::ControllerMessage& message, int64_t now_ns);

  // The launcher. After each connect: OnLauncherList with all it holds.
  Out OnLauncherList(const std::vector<v1::TaskState>& tasks, int64_t now_ns, int64_t boot_ns);
  Out OnLauncherReply(const v1::LauncherReply& reply, int64_t now_ns);
  void OnLauncherLost();

  // The tasks. Values come again when a task connects again; the peers are then told again.
  Out OnValues(const Key& key, const std::map<std::string, std::string>& values);
  Out OnProgress(const Key& key, const v1::Progress& progress);
  // Whether the token is that task's.
  bool Knows(const Key& key, const std::string& token) const;

  Out OnTick(int64_t now_ns);

  const Note* NoteOf(const Key& key) const;  // null: not held here
  bool HasEnded(const Key& key) const;
  size_t held() const { return tasks_.size(); }

 private:
  enum class State { kBodyless, kPreparing, kReady, kStarting, kRunning, kExited };
  struct Task {
    Note note;
    v1::DesiredTask desired;
    State state = State::kBodyless;
    bool stop_sent = false;
    bool told_peers = false;
    bool in_launcher = false;            // it holds a record, to be forgotten in the end
    bool unwanted = false;               // the daemon does not know it: forget it once it ended
    bool gone = false;                   // the daemon has its end: forget it
    bool has_values = false;
    bool adopted = false;                // found at the launcher after this agent was started
    std::map<std::string, std::string> values;
    int64_t started_boot_ns = 0;
  };

  void Step(const Key& key, Task& task, Out& out);
  void Start(const Key& key, Task& task, Out& out);
  void Stop(const Key& key, Task& task, Out& out);
  void Ended(const Key& key, Task& task, const v1::TaskState& state, Out& out);
  void Report(const Key& key, v1::TaskReport report, Out& out);
  void Refuse(const Key& key, Task& task, const std::string& why, Out& out);
  void Forget(const Key& key, Out& out);
  void Take(const Key& key, const v1::TaskBody& body, Out& out);
  void OnDesired(const v1::DesiredState& state, Out& out);
  void OnTaskState(const v1::TaskState& state, Out& out);
  void Ask(const Key& key, v1::LauncherRequest request, Out& out);
  void Register(int64_t now_ns, Out& out);
  void SendReports(Out& out);

  const std::string node_;
  const std::string session_id_;
  const v1::NodeInfo info_;
  const Hooks hooks_;

  std::map<Key, Task> tasks_;
  std::deque<v1::TaskReport> reports_;   // not acknowledged, in order
  uint64_t last_sequence_ = 0;
  uint64_t last_request_ = 0;
  std::map<uint64_t, Key> asked_;        // start requests in flight
  uint64_t revision_ = 0;
  bool connected_ = false;
  bool registered_ = false;              // Register was sent on this stream
  bool welcome_ = false;
  bool launcher_ = false;
  int64_t heartbeat_ns_ = 2'000'000'000;
  int64_t last_heartbeat_ns_ = 0;
  int64_t last_repeat_ns_ = 0;
  int64_t boot_offset_ns_ = 0;           // boot clock minus this machine's
  int64_t now_ns_ = 0;
};

}  // namespace sinew::agent
