// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "base/clock.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "cli/exit_code.h"
#include "proto/sinew/v1/admin.grpc.pb.h"
#include "proto/sinew/v1/job.grpc.pb.h"
#include "proto/sinew/v1/node.grpc.pb.h"

namespace sinew::cli {
namespace {

constexpr int64_t kRetryNs = 10'000'000'000;
constexpr int kPageSize = 500;

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status out(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  if (!status.error_details().empty()) out.SetPayload(kDetailsUrl, absl::Cord(status.error_details()));
  return out;
}

// "unix:" takes a URI: bytes with a meaning there are written as %XX.
std::string Target(const std::string& socket) {
  std::string out = "unix:";
  for (const char c : socket) {
    if (c == '%' || c == '?' || c == '#' || c == ' ') {
      char hex[4];
      std::snprintf(hex, sizeof(hex), "%%%02X", static_cast<unsigned char>(c));
      out += hex;
    } else {
      out += c;
    }
  }
  return out;
}

// UUID, version 4.
std::string RequestId() {
  unsigned char b[16];
  if (::getrandom(b, sizeof(b), 0) != sizeof(b)) std::abort();
  b[6] = (b[6] & 0x0f) | 0x40;
  b[8] = (b[8] & 0x3f) | 0x80;
  std::string out;
  for (int i = 0; i < 16; ++i) {
    char hex[3];
    std::snprintf(hex, sizeof(hex), "%02x", b[i]);
    out += hex;
    if (i == 3 || i == 5 || i == 7 || i == 9) out += '-';
  }
  return out;
}

void Deadline(grpc::ClientContext& context, int64_t ns) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::nanoseconds(ns));
}

}  // namespace

absl::Status ProbeSocket(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError("the socket path " + socket + " is longer than 107 bytes");
  }
  std::memcpy(address.sun_path, socket.c_str(), socket.size() + 1);
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return absl::InternalError(std::string("cannot make a socket: ") + std::strerror(errno));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return absl::OkStatus();
  const int error = errno;
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError("no permission to open the daemon's socket " + socket + ": " +
                                       std::strerror(error) + "; ask its owner, or name another one with --socket");
  }
  return absl::UnavailableError("cannot reach the daemon at " + socket + ": " + std::strerror(error) +
                                "; start one with `sinew up`, or name its socket with --socket");
}

namespace {

// Until the end of the stream, or `take` returned false (then OK).
template <typename Message>
absl::Status ReadAll(grpc::ClientContext& context, grpc::ClientReader<Message>& stream,
                   const std::function<bool(const Message&)>& take) {
  Message message;
  while (stream.Read(&message)) {
    if (take(message)) continue;
    context.TryCancel();
    while (stream.Read(&message)) {
    }
    (void)stream.Finish();
    return absl::OkStatus();
  }
  return FromGrpc(stream.Finish());
}

}  // namespace

struct Client::Stubs {
  std::unique_ptr<v1::Jobs::Stub> jobs;
  std::unique_ptr<v1::Nodes::Stub> nodes;
  std::unique_ptr<v1::Cluster::Stub> cluster;
  std::unique_ptr<v1::Admin::Stub> admin;

  // A unary call; `repeat`: it may be made again with the same request.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(const std::string& socket, Stub& stub,
                                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                                const Request& request) {
    const int64_t give_up = MonoNs() + kRetryNs;
    absl::Status last = ProbeSocket(socket);
    RETURN_IF_ERROR(last);
    for (int64_t pause_ms = 50;; pause_ms = std::min<int64_t>(pause_ms * 2, 1000)) {
      if (last.ok()) {
        grpc::ClientContext context;
        Deadline(context, 30'000'000'000);
        Response response;
        last = FromGrpc((stub.*method)(&context, request, &response));
        if (last.ok()) return response;
        if (last.code() == absl::StatusCode::kDeadlineExceeded) {
          return absl::UnavailableError("the daemon at " + socket + " did not answer within 30 s");
        }
      }
      if (last.code() != absl::StatusCode::kUnavailable || MonoNs() > give_up) return last;
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
      last = ProbeSocket(socket);
    }
  }
};

Client::Client(std::string socket) : socket_(std::move(socket)), stubs_(std::make_unique<Stubs>()) {
  ::setenv("GRPC_VERBOSITY", "NONE", 0);  // errors are said in our own words
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  args.SetMaxReceiveMessageSize(64 << 20);
  const auto channel = grpc::CreateCustomChannel(Target(socket_), grpc::InsecureChannelCredentials(), args);
  stubs_->jobs = v1::Jobs::NewStub(channel);
  stubs_->nodes = v1::Nodes::NewStub(channel);
  stubs_->cluster = v1::Cluster::NewStub(channel);
  stubs_->admin = v1::Admin::NewStub(channel);
}
Client::~Client() = default;

absl::StatusOr<v1::Job> Client::Submit(const v1::JobSpec& spec, bool validate_only) {
  v1::SubmitJobRequest request;
  *request.mutable_spec() = spec;
  request.set_request_id(RequestId());
  request.set_validate_only(validate_only);
  ASSIGN_OR_RETURN(auto response, stubs_->Call(socket_, *stubs_->jobs, &v1::Jobs::Stub::SubmitJob, request));
  return std::move(*response.mutable_job());
}

absl::StatusOr<v1::Job> Client::Cancel(const std::string& name) {
  v1::CancelJobRequest request;
  request.set_name(name);
  request.set_request_id(RequestId());
  return stubs_->Call(socket_, *stubs_->jobs, &v1::Jobs::Stub::CancelJob, request);
}

absl::StatusOr<v1::Job> Client::Hold(const std::string& name) {
  v1::HoldJobRequest request;
  request.set_name(name);
  request.set_request_id(RequestId());
  return stubs_->Call(socket_, *stubs_->jobs, &v1::Jobs::Stub::HoldJob, request);
}

absl::StatusOr<v1::Job> Client::Release(const std::string& name) {
  v1::ReleaseJobRequest request;
  request.set_name(name);
  request.set_request_id(RequestId());
  return stubs_->Call(socket_, *stubs_->jobs, &v1::Jobs::Stub::ReleaseJob, request);
}

absl::StatusOr<v1::Job> Client::Requeue(const std::string& name, bool hold) {
  v1::RequeueJobRequest request;
  request.set_name(name);
  request.set_request_id(RequestId());
  request.set_hold(hold);
  return stubs_->Call(socket_, *stubs_->jobs, &v1::Jobs::Stub::RequeueJob, request);
}

absl::StatusOr<v1::Node> Client::Cordon(const std::string& name, const std::string& reason) {
  v1::CordonNodeRequest request;
  request.set_name(name);
  request.set_reason(reason);
  return stubs_->Call(socket_, *stubs_->nodes, &v1::Nodes::Stub::CordonNode, request);
}

absl::StatusOr<v1::Node> Client::Drain(const v1::DrainNodeRequest& request) {
  return stubs_->Call(socket_, *stubs_->nodes, &v1::Nodes::Stub::DrainNode, request);
}

absl::StatusOr<v1::Node> Client::Resume(const std::string& name) {
  v1::ResumeNodeRequest request;
  request.set_name(name);
  return stubs_->Call(socket_, *stubs_->nodes, &v1::Nodes::Stub::ResumeNode, request);
}

absl::StatusOr<v1::Job> Client::GetJob(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  return stubs_->Call(socket_, *stubs_->jobs, &v1::Jobs::Stub::GetJob, request);
}

absl::StatusOr<v1::ListJobsResponse> Client::ListJobs(bool all_users, bool include_ended) {
  v1::ListJobsRequest request;
  request.set_page_size(kPageSize);
  request.set_all_users(all_users);
  request.set_include_ended(include_ended);
  v1::ListJobsResponse all;
  do {
    ASSIGN_OR_RETURN(auto page, stubs_->Call(socket_, *stubs_->jobs, &v1::Jobs::Stub::ListJobs, request));
    all.mutable_jobs()->MergeFrom(page.jobs());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

absl::StatusOr<v1::ListJobEventsResponse> Client::ListJobEvents(const std::string& name) {
  v1::ListJobEventsRequest request;
  request.set_name(name);
  request.set_page_size(kPageSize);
  v1::ListJobEventsResponse all;
  do {
    ASSIGN_OR_RETURN(auto page, stubs_->Call(socket_, *stubs_->jobs, &v1::Jobs::Stub::ListJobEvents, request));
    all.mutable_events()->MergeFrom(page.events());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

absl::StatusOr<v1::ExplainJobResponse> Client::Explain(const std::string& name) {
  v1::ExplainJobRequest request;
  request.set_name(name);
  return stubs_->Call(socket_, *stubs_->jobs, &v1::Jobs::Stub::ExplainJob, request);
}

absl::StatusOr<v1::Node> Client::GetNode(const std::string& name) {
  v1::GetNodeRequest request;
  request.set_name(name);
  return stubs_->Call(socket_, *stubs_->nodes, &v1::Nodes::Stub::GetNode, request);
}

absl::StatusOr<v1::ListNodesResponse> Client::ListNodes() {
  v1::ListNodesRequest request;
  request.set_page_size(kPageSize);
  v1::ListNodesResponse all;
  do {
    ASSIGN_OR_RETURN(auto page, stubs_->Call(socket_, *stubs_->nodes, &v1::Nodes::Stub::ListNodes, request));
    all.mutable_nodes()->MergeFrom(page.nodes());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

absl::StatusOr<v1::GetVersionResponse> Client::GetVersion() {
  return stubs_->Call(socket_, *stubs_->cluster, &v1::Cluster::Stub::GetVersion, v1::GetVersionRequest());
}

absl::Status Client::Watch(const std::string& name, int64_t timeout_ns, const std::function<bool(const v1::Job&)>& take) {
  RETURN_IF_ERROR(ProbeSocket(socket_));
  v1::WatchJobRequest request;
  request.set_name(name);
  grpc::ClientContext context;
  if (timeout_ns > 0) Deadline(context, timeout_ns);
  const auto stream = stubs_->jobs->WatchJob(&context, request);
  return ReadAll<v1::Job>(context, *stream, take);
}

absl::Status Client::Backup(const std::function<bool(const v1::BackupChunk&)>& take) {
  RETURN_IF_ERROR(ProbeSocket(socket_));
  grpc::ClientContext context;
  const auto stream = stubs_->admin->Backup(&context, {});
  return ReadAll<v1::BackupChunk>(context, *stream, take);
}

absl::Status Client::ReadLogs(const v1::ReadLogsRequest& request, const std::function<bool(const v1::LogChunk&)>& take) {
  RETURN_IF_ERROR(ProbeSocket(socket_));
  grpc::ClientContext context;
  const auto stream = stubs_->jobs->ReadLogs(&context, request);
  return ReadAll<v1::LogChunk>(context, *stream, take);
}

}  // namespace sinew::cli
