// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher/task_image.h"

#include "agent/launcher/shim_protocol.h"

namespace sinew::launcher {

std::string MakeTaskImage(const v1::StartTask& start, const User& user, const TaskGroup& group,
                          const std::string& task_id, std::uint64_t serial, std::uint32_t flags) {
  ShimTask head = {kTaskMagic, serial, flags, start.uid(), user.gid};
  head.n_groups = static_cast<std::uint32_t>(user.groups.size());
  head.n_cpus = static_cast<std::uint32_t>(start.cpus_size());
  head.n_args = static_cast<std::uint32_t>(start.argv_size());
  std::string numbers, words, env;
  auto number = [&numbers](std::uint32_t n) { numbers.append(reinterpret_cast<const char*>(&n), sizeof(n)); };
  for (const gid_t gid : user.groups) number(gid);
  for (const int cpu : start.cpus()) number(static_cast<std::uint32_t>(cpu));
  auto word = [](std::string& out, const std::string& text) { out.append(text.c_str(), text.size() + 1); };
  word(words, start.workdir());
  word(words, start.stdout_path());
  word(words, start.stderr_path());
  word(words, group.v2);
  word(words, group.v1_memory);
  for (const std::string& argument : start.argv()) word(words, argument);
  for (const std::string& entry : start.env()) {
    if (entry.rfind("SINEW_TASK_ID=", 0) == 0) continue;
    word(env, entry);
    ++head.n_env;
  }
  word(env, "SINEW_TASK_ID=" + task_id);
  ++head.n_env;

  std::string image(reinterpret_cast<const char*>(&head), sizeof(head));
  image += numbers;
  image += words;
  image += env;
  return image;
}

}  // namespace sinew::launcher
