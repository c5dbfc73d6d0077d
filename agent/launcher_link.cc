// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher_link.h"

#include <utility>

namespace sinew::agent {

void LauncherLink::Lose(const std::string& why) {
  const bool was_listed = client_ && !listing_;
  client_.reset();
  // Once for each reason, not once for each attempt.
  if (was_listed || why != told_) events_.lost(why);
  told_ = why;
}

void LauncherLink::Tick(int64_t now_ns) {
  if (client_ || now_ns < next_try_ns_) return;
  next_try_ns_ = now_ns + 200'000'000;
  auto client = LauncherClient::Connect(socket_);
  if (!client.ok()) return Lose(std::string(client.status().message()));
  v1::LauncherRequest request;
  request.set_id(kListId);
  request.mutable_list();
  if (const absl::Status status = client->Send(request); !status.ok()) return Lose(std::string(status.message()));
  client_ = *std::move(client);
  listing_ = true;
  list_.Clear();
  meanwhile_.clear();
}

void LauncherLink::Receive() {
  while (client_) {
    auto received = client_->Receive();
    if (!received.ok()) return Lose(std::string(received.status().message()));
    if (!received->has_value()) return;
    v1::LauncherReply& reply = **received;
    if (!listing_) {
      events_.reply(reply);
      continue;
    }
    if (reply.id() != kListId) {
      meanwhile_.push_back(std::move(reply));
      continue;
    }
    const bool more = reply.more();
    list_.MergeFrom(reply);
    if (more) continue;
    listing_ = false;
    told_.clear();
    events_.listed(list_);
    for (const v1::LauncherReply& waiting : std::exchange(meanwhile_, {})) events_.reply(waiting);
  }
}

void LauncherLink::Send(const std::vector<v1::LauncherRequest>& requests) {
  for (const v1::LauncherRequest& request : requests) {
    if (!client_ || listing_) return;
    const absl::Status status = client_->Send(request);
    if (status.ok()) continue;
    if (!absl::IsInvalidArgument(status)) return Lose(std::string(status.message()));
    v1::LauncherReply reply;
    reply.set_id(request.id());
    reply.set_error(std::string(status.message()));
    events_.reply(reply);
  }
}

}  // namespace sinew::agent
