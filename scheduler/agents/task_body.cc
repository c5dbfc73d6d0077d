// SPDX-License-Identifier: Apache-2.0
#include "scheduler/agents/task_body.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "spec/defaults.h"

namespace sinew {

v1::TaskKey ToWire(const TaskKey& key) {
  v1::TaskKey to;
  to.set_job(key.job.value);
  to.set_run(key.run);
  to.set_rank(key.rank);
  return to;
}

TaskKey FromWire(const v1::TaskKey& key) { return {{key.job()}, key.run(), key.rank()}; }

std::string BodyDigest(const TaskKey& key) { return absl::StrCat(key.job.value, ".", key.run, ".", key.rank); }

v1::TaskBody MakeTaskBody(const Job& job, int32_t rank) {
  v1::JobSpec spec;
  spec.ParseFromString(job.spec.body);
  v1::TaskBody body;
  *body.mutable_key() = ToWire({job.id, job.run, rank});
  if (spec.has_train()) {
    body.add_argv("@trainer");
    body.set_train(spec.train().SerializeAsString());
    const std::string folder = CheckpointFolder(spec, job.id.value);
    body.set_checkpoint_dir(absl::StrCat(folder, "/run-", job.run));
    if (job.run > 1) body.set_resume_from(folder);
  } else {
    for (const std::string& word : spec.command().argv()) body.add_argv(word);
  }
  *body.mutable_env() = spec.env();
  body.set_workdir(spec.workdir());
  body.set_uid(job.submitter.uid);
  body.set_gid(job.submitter.gid);
  body.set_user(job.submitter.user);
  body.set_milli_cpus(job.spec.demand.cpus.value);
  body.set_memory_bytes(job.spec.demand.memory.value);
  body.set_grace_ns(job.spec.grace.value);
  body.set_stdout(ExpandPattern(spec.outputs().stdout(), job.id.value, rank, job.run));
  body.set_stderr(ExpandPattern(spec.outputs().stderr(), job.id.value, rank, job.run));
  body.set_world_size(static_cast<int32_t>(job.tasks.size()));
  body.set_rendezvous(job.spec.rendezvous);
  body.set_job_name(job.spec.name);
  body.set_time_left_ns(job.spec.time_limit.value);

  std::vector<NodeId> nodes;  // in the order of their lowest rank
  const Task* mine = nullptr;
  for (const Task& task : job.tasks) {
    if (std::find(nodes.begin(), nodes.end(), task.node) == nodes.end()) nodes.push_back(task.node);
    if (task.rank == rank) mine = &task;
  }
  if (!mine) return body;
  for (const int32_t d : mine->devices) body.add_devices(d);
  int32_t local_rank = 0, local_size = 0;
  for (const Task& task : job.tasks) {
    if (task.node != mine->node) continue;
    ++local_size;
    if (task.rank < rank) ++local_rank;
  }
  body.set_local_rank(local_rank);
  body.set_local_world_size(local_size);
  body.set_group_rank(static_cast<int32_t>(std::find(nodes.begin(), nodes.end(), mine->node) - nodes.begin()));
  body.set_num_nodes(static_cast<int32_t>(nodes.size()));
  return body;
}

}  // namespace sinew
