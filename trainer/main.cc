// SPDX-License-Identifier: Apache-2.0
// sinew-trainer: one worker of a training job. An agent starts it and tells it all by the environment
// (trainer/worker/settings.h). Exit status: 0 trained, 1 failed, 75 a peer was lost, 143 stopped after a checkpoint.
#include <dlfcn.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/version.h"
#include "trainer/data/dataset.h"
#include "trainer/exchange/gloo_group.h"
#include "trainer/model/model.h"
#include "trainer/runtime/runtime_client.h"
#include "trainer/worker/worker.h"

namespace sinew::trainer {
namespace {

std::atomic<bool> stop_signal{false};

void Say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "sinew-trainer: %s\n", std::string(status.message()).c_str());
  return static_cast<int>(absl::IsUnavailable(status) ? Outcome::kPeerLost : Outcome::kFailed);
}

// OpenBLAS has its own pool; other BLAS libraries have no such call.
void SetBlasThreads(int threads) {
  if (auto* set = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "openblas_set_num_threads")); set != nullptr) {
    set(threads);
  }
}

absl::StatusOr<std::unique_ptr<Group>> Join(const Settings& settings, RuntimeClient* runtime) {
  const GlooOptions options{.rank = settings.rank, .size = settings.workers, .address = settings.address};
  if (runtime != nullptr) {
    return JoinGloo(options, [&](std::map<std::string, std::string> mine) {
      return runtime->Meet(std::move(mine), absl::Minutes(10));
    });
  }
  if (settings.workers > 1) return JoinGlooAt(options, settings.master_address, settings.master_port);
  return std::make_unique<SingleGroup>();
}

int Main() {
  const auto settings = SettingsFrom([](const char* name) -> const char* { return std::getenv(name); });
  if (!settings.ok()) return Fail(settings.status());
  if (settings->train.threads() > 0) SetBlasThreads(settings->train.threads());

  std::unique_ptr<RuntimeClient> runtime;
  if (!settings->runtime_socket.empty()) {
    runtime = std::make_unique<RuntimeClient>(RuntimeOptions{.socket = settings->runtime_socket,
                                                             .token = settings->token,
                                                             .job = settings->job,
                                                             .run = settings->run,
                                                             .rank = settings->rank});
    v1::Progress loading;
    loading.set_phase("loading");
    loading.set_total_epochs(settings->train.epochs());
    runtime->Report(loading);
  }
  const auto model = MakeModel(settings->train.model());
  if (!model.ok()) return Fail(model.status());
  const auto data = ReadIdxDataset(settings->train.data().path(), (*model)->rows(), (*model)->columns(),
                                   (*model)->classes());
  if (!data.ok()) return Fail(data.status());
  const auto group = Join(*settings, runtime.get());
  if (!group.ok()) return Fail(group.status());

  // Until here a signal ends the process at once: there is nothing to save.
  struct sigaction action {};
  action.sa_handler = [](int) { stop_signal = true; };
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);

  Hooks hooks;
  hooks.say = Say;
  hooks.stop_asked = [&] { return stop_signal || (runtime && runtime->stop_asked()); };
  if (runtime) {
    hooks.report = [&](const v1::Progress& progress) { runtime->Report(progress); };
    hooks.checkpoint_asked = [&] { return runtime->TakeCheckpointAsked(); };
  }
  return static_cast<int>(Worker(*settings, **model, *data, **group, hooks).Run());
}

}  // namespace
}  // namespace sinew::trainer

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--version") {
    std::printf("sinew-trainer %s\n", sinew::kVersion);
    return 0;
  }
  if (argc > 1) {
    std::fprintf(stderr,
                 "sinew-trainer takes no arguments but --version: an agent starts it, and tells it all by the "
                 "environment\n");
    return 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  return sinew::trainer::Main();
}
