// SPDX-License-Identifier: Apache-2.0
#include "trainer/exchange/gloo_group.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"

namespace sinew::trainer {
namespace {

// Gloo's texts carry source lines and a stack; the first line's end says what happened.
std::string Short(const std::exception& e) {
  std::string text = e.what();
  text = text.substr(0, text.find('\n'));
  if (text.starts_with('[')) {
    if (const auto end = text.find("] "); end != std::string::npos) text = text.substr(end + 2);
  }
  return text;
}

class GlooGroup final : public Group {
 public:
  GlooGroup(const GlooOptions& options, const c10::intrusive_ptr<c10d::Store>& store) : size_(options.size) {
    auto gloo = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(options.timeout_s));
    gloo->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(options.address)};
    gloo->threads = 1;  // one exchange at a time
    gloo_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, options.rank, options.size, gloo);
  }

  int rank() const override { return gloo_->getRank(); }
  int size() const override { return size_; }

  absl::Status AllGather(std::span<const float> mine, std::span<float> all) override {
    const int64_t n = static_cast<int64_t>(mine.size());
    std::vector<at::Tensor> in = {at::from_blob(const_cast<float*>(mine.data()), {n})};
    std::vector<std::vector<at::Tensor>> out(1);
    for (int r = 0; r < size_; ++r) {
      out[0].push_back(at::from_blob(all.data() + static_cast<std::size_t>(r) * mine.size(), {n}));
    }
    try {
      gloo_->allgather(out, in)->wait();
    } catch (const std::exception& e) {
      return absl::UnavailableError(Short(e));
    }
    return absl::OkStatus();
  }

 private:
  const int size_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
};

c10::intrusive_ptr<c10d::Store> Store(const GlooOptions& options, const std::string& host, int port) {
  c10d::TCPStoreOptions store;
  store.port = static_cast<uint16_t>(port);
  store.isServer = options.rank == 0;
  store.numWorkers = options.size;
  store.waitWorkers = false;  // Gloo's connecting waits for everyone
  store.timeout = std::chrono::seconds(options.timeout_s);
  return c10::make_intrusive<c10d::TCPStore>(host, store);
}

absl::Status NotTogether(const std::string& why) {
  return absl::UnavailableError("the workers did not come together: " + why);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Group>> JoinGloo(const GlooOptions& options, const Rendezvous& rendezvous) {
  try {
    std::map<std::string, std::string> mine;
    c10::intrusive_ptr<c10d::Store> store;
    if (options.rank == 0) {
      store = Store(options, options.address, 0);
      mine["store"] = options.address + ":" + std::to_string(static_cast<c10d::TCPStore&>(*store).getPort());
    } else {
      mine["rank." + std::to_string(options.rank)] = "1";
    }
    const auto all = rendezvous(std::move(mine));
    if (!all.ok()) return NotTogether(std::string(all.status().message()));
    if (!store) {
      const auto at = all->find("store");
      const std::size_t colon = at == all->end() ? std::string::npos : at->second.rfind(':');
      int port = 0;
      if (colon == std::string::npos || !absl::SimpleAtoi(at->second.substr(colon + 1), &port)) {
        return NotTogether("rank 0 did not say where its store is");
      }
      store = Store(options, at->second.substr(0, colon), port);
    }
    return std::make_unique<GlooGroup>(options, store);
  } catch (const std::exception& e) {
    return NotTogether(Short(e));
  }
}

absl::StatusOr<std::unique_ptr<Group>> JoinGlooAt(const GlooOptions& options, const std::string& host, int port) {
  try {
    return std::make_unique<GlooGroup>(options, Store(options, host, port));
  } catch (const std::exception& e) {
    return NotTogether(Short(e));
  }
}

}  // namespace sinew::trainer
