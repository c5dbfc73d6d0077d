// SPDX-License-Identifier: Apache-2.0
// The Admin service: for operators only.
#pragma once

#include <string>

#include "absl/synchronization/mutex.h"
#include "proto/sinew/v1/admin.grpc.pb.h"
#include "scheduler/controller.h"
#include "scheduler/rpc/identity.h"

namespace sinew {

class AdminService final : public v1::Admin::Service {
 public:
  // work_dir: a folder of the daemon's own, in which a backup lies while it is sent. What was left there goes.
  AdminService(Controller& controller, const Identity& identity, std::string work_dir);
  grpc::Status Backup(grpc::ServerContext*, const v1::BackupRequest*, grpc::ServerWriter<v1::BackupChunk>*) override;

 private:
  Controller& controller_;
  const Identity& identity_;
  const std::string file_;
  absl::Mutex mutex_;  // one backup at a time
};

}  // namespace sinew
