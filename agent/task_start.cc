// SPDX-License-Identifier: Apache-2.0
#include "agent/task_start.h"

#include <google/protobuf/util/json_util.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

#include "proto/sinew/v1/spec.pb.h"

namespace sinew::agent {
namespace {

struct Account {
  std::string home, shell;
  bool found = false;
};

Account AccountOf(uid_t uid) {
  std::vector<char> buffer(16384);
  passwd entry{}, *found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  return {entry.pw_dir, entry.pw_shell, true};
}

const v1::DeviceInfo* DeviceAt(const NodeFacts& facts, int32_t index) {
  for (const v1::DeviceInfo& device : facts.info.devices()) {
    if (device.index() == index) return &device;
  }
  return nullptr;
}

// CUDA knows a GPU by its UUID for as long as it lives; described GPUs have only their place in the list.
bool IsCuda(const v1::DeviceInfo& device) { return device.type() != "cpu-slot" && device.type() != "knl"; }

std::string CudaName(const v1::DeviceInfo& device) {
  const std::string& uuid = device.uuid();
  return uuid.rfind("GPU-", 0) == 0 || uuid.rfind("MIG-", 0) == 0 ? uuid : std::to_string(device.index());
}

std::string Join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + word;
  return out;
}

}  // namespace

std::string WhyNot(const v1::TaskBody& body, const NodeFacts& facts) {
  if (body.argv_size() == 0 || body.argv(0).empty()) return "the task names no program";
  if (body.argv(0) == "@trainer") {
    if (facts.trainer.empty()) {
      return "node " + facts.node + " has no sinew-trainer; install it there, or name it with sinew-agent --trainer";
    }
    v1::TrainSpec train;
    if (!train.ParseFromString(body.train())) return "the task's training specification cannot be read";
  }
  if (body.workdir().empty() || body.workdir()[0] != '/') return "workdir \"" + body.workdir() + "\" is not absolute";
  for (const int32_t index : body.devices()) {
    if (DeviceAt(facts, index) == nullptr) {
      return "node " + facts.node + " has no device " + std::to_string(index) + "; it has " +
             std::to_string(facts.info.devices_size());
    }
  }
  return "";
}

std::string OutputPath(const v1::TaskBody& body, bool errors) {
  const std::string& path = errors ? body.stderr() : body.stdout();
  return path.empty() || path[0] == '/' ? path : body.workdir() + "/" + path;
}

v1::StartTask MakeStart(const Note& note, const v1::DesiredTask& desired, const NodeFacts& facts) {
  const v1::TaskBody& body = note.body();
  v1::StartTask start;
  start.set_workdir(body.workdir());
  start.set_uid(body.uid());
  start.set_gid(body.gid());
  start.set_user(body.user());
  start.set_stdout_path(OutputPath(body, false));
  start.set_stderr_path(OutputPath(body, true));
  start.set_memory_bytes(body.memory_bytes());
  for (const std::string& word : body.argv()) start.add_argv(word);

  std::map<std::string, std::string> env;
  const Account account = AccountOf(body.uid());
  env["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  env["LANG"] = "C.UTF-8";
  env["USER"] = env["LOGNAME"] = body.user();
  env["HOME"] = account.found ? account.home : "/";
  env["SHELL"] = account.found && !account.shell.empty() ? account.shell : "/bin/sh";
  // Two thread pools that each take every core fight; both libraries read these.
  const std::string threads = std::to_string(std::max<int64_t>(1, body.milli_cpus() / 1000));
  env["OMP_NUM_THREADS"] = env["OPENBLAS_NUM_THREADS"] = threads;
  for (const auto& [name, value] : body.env()) env[name] = value;

  env["RANK"] = std::to_string(body.key().rank());
  env["LOCAL_RANK"] = std::to_string(body.local_rank());
  env["WORLD_SIZE"] = std::to_string(body.world_size());
  env["LOCAL_WORLD_SIZE"] = std::to_string(body.local_world_size());
  env["GROUP_RANK"] = std::to_string(body.group_rank());
  env["TORCHELASTIC_RUN_ID"] = std::to_string(body.key().job());
  env["TORCHELASTIC_RESTART_COUNT"] = std::to_string(std::max<int64_t>(0, int64_t{body.key().run()} - 1));
  if (!body.rendezvous()) {
    env["MASTER_ADDR"] = desired.master_address().empty() ? "127.0.0.1" : desired.master_address();
    env["MASTER_PORT"] = std::to_string(desired.master_port());
  }

  std::vector<std::string> cuda, indices;
  for (const int32_t index : body.devices()) {
    indices.push_back(std::to_string(index));
    const v1::DeviceInfo* device = DeviceAt(facts, index);
    if (device != nullptr && IsCuda(*device)) cuda.push_back(CudaName(*device));
  }
  // Set also when empty: a task that asked for no GPU sees none.
  env["CUDA_VISIBLE_DEVICES"] = Join(cuda);
  env["NVIDIA_VISIBLE_DEVICES"] = cuda.empty() ? "void" : Join(cuda);
  env["SINEW_DEVICES"] = Join(indices);

  env["SINEW_JOB_ID"] = std::to_string(body.key().job());
  env["SINEW_JOB_NAME"] = body.job_name();
  env["SINEW_RUN"] = env["SINEW_ATTEMPT"] = std::to_string(body.key().run());
  env["SINEW_NODE"] = facts.node;
  env["SINEW_NODE_ADDRESS"] = facts.info.address();
  env["SINEW_NODE_RANK"] = std::to_string(body.group_rank());
  env["SINEW_NUM_NODES"] = std::to_string(body.num_nodes());
  env["SINEW_CHECKPOINT_DIR"] = body.checkpoint_dir();
  env["SINEW_RESUME_FROM"] = body.resume_from();
  env["SINEW_RUNTIME_SOCKET"] = facts.runtime_socket;
  env["SINEW_TASK_TOKEN"] = note.token();
  if (body.argv_size() > 0 && body.argv(0) == "@trainer") {
    start.set_argv(0, facts.trainer);
    v1::TrainSpec train;
    train.ParseFromString(body.train());
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    std::string json;
    if (google::protobuf::util::MessageToJsonString(train, &json, options).ok()) env["SINEW_TRAIN_SPEC"] = json;
  }
  for (const auto& [name, value] : env) start.add_env(name + "=" + value);
  return start;
}

}  // namespace sinew::agent
