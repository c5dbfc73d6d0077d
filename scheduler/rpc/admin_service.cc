// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rpc/admin_service.h"

#include <fcntl.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "base/errno_status.h"
#include "base/unique_fd.h"
#include "scheduler/rpc/errors.h"
#include "scheduler/store/backup.h"

namespace sinew {
namespace {

constexpr size_t kChunk = 1 << 20;

}  // namespace

AdminService::AdminService(Controller& controller, const Identity& identity, std::string work_dir)
    : controller_(controller), identity_(identity), file_(std::move(work_dir) + "/backup.tmp") {
  ::unlink(file_.c_str());
}

grpc::Status AdminService::Backup(grpc::ServerContext* context, const v1::BackupRequest*,
                                  grpc::ServerWriter<v1::BackupChunk>* writer) {
  const auto user = identity_.Of(context->peer());
  if (!user.ok()) return ToGrpc(user.status());
  if (!user->operator_) {
    return ToGrpc(absl::PermissionDeniedError("only root and the daemon's own user may take a backup; you are " +
                                              user->name));
  }
  if (!mutex_.TryLock()) return ToGrpc(absl::ResourceExhaustedError("another backup is being taken; try again then"));
  const absl::Cleanup done = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    ::unlink(file_.c_str());
    mutex_.Unlock();
  };
  ::unlink(file_.c_str());
  if (const absl::Status status = controller_.store().Backup(file_); !status.ok()) return ToGrpc(status);
  const auto facts = CheckState(file_);
  if (!facts.ok()) return ToGrpc(facts.status());
  v1::BackupChunk chunk;
  auto* summary = chunk.mutable_summary();
  summary->set_cluster_id(facts->cluster_id);
  summary->set_schema(facts->schema);
  summary->set_revision(facts->revision);
  summary->set_jobs(facts->jobs);
  summary->set_live_jobs(facts->live_jobs);
  summary->set_nodes(facts->nodes);
  summary->set_bytes(facts->bytes);
  if (!writer->Write(chunk)) return grpc::Status::CANCELLED;
  const UniqueFd file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return ToGrpc(ErrnoStatus("open", file_));
  chunk.clear_summary();
  for (;;) {
    std::string* data = chunk.mutable_data();
    data->resize(kChunk);
    const ssize_t got = ::read(file.get(), data->data(), data->size());
    if (got < 0) return ToGrpc(ErrnoStatus("read", file_));
    if (got == 0) return grpc::Status::OK;
    data->resize(static_cast<size_t>(got));
    if (!writer->Write(chunk)) return grpc::Status::CANCELLED;
  }
}

}  // namespace sinew
