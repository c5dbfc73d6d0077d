// SPDX-License-Identifier: Apache-2.0
// A group over c10d's Gloo backend: TCP between all ranks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/exchange/group.h"

namespace sinew::trainer {

// Values that each rank sets once, for all to read. Given this rank's, returns everyone's, and waits until all were
// set. Called once.
using Rendezvous = std::function<absl::StatusOr<std::map<std::string, std::string>>(std::map<std::string, std::string>)>;

struct GlooOptions {
  int rank = 0;
  int size = 1;
  std::string address = "127.0.0.1";  // this rank listens here; the others must be able to reach it
  int timeout_s = 300;                // for connecting, and for each exchange
};

// Rank 0 serves c10d's store on a free port and says where through the rendezvous; Gloo finds its peers there.
// UNAVAILABLE when not everyone came together.
absl::StatusOr<std::unique_ptr<Group>> JoinGloo(const GlooOptions& options, const Rendezvous& rendezvous);

// For ranks started without Sinew, as torchrun starts them: rank 0 serves the store at host:port.
absl::StatusOr<std::unique_ptr<Group>> JoinGlooAt(const GlooOptions& options, const std::string& host, int port);

}  // namespace sinew::trainer
