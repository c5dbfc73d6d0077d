// SPDX-License-Identifier: Apache-2.0
// A real sinewd, spoken to over its socket as any client of the API would.
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/process.h"
#include "proto/sinew/v1/job.grpc.pb.h"

namespace sinew {
namespace {

class DaemonTest : public testing::Test {
 protected:
  DaemonTest() {
    char name[] = "/tmp/sinewd-test-XXXXXX";
    dir_ = ::mkdtemp(name);
    std::filesystem::create_directories(dir_ + "/state");
    std::ofstream(dir_ + "/sinewd.yaml") << "state_dir: " << dir_ << "/state\nsocket: " << dir_ << "/socket\n";
    EXPECT_EQ(RunToEnd({"sinewd", "--config", dir_ + "/sinewd.yaml", "--init"}), 0);
    StartDaemon();
  }
  ~DaemonTest() override {
    End(SIGKILL);
    std::filesystem::remove_all(dir_);
  }

  void StartDaemon() {
    auto spawned = Spawn({"scheduler/sinewd", {"sinewd", "--config", dir_ + "/sinewd.yaml"}});
    ASSERT_TRUE(spawned.ok()) << spawned.status();
    pid_ = spawned->pid;
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // not the connection to the daemon before
    channel_ = grpc::CreateCustomChannel("unix:" + dir_ + "/socket", grpc::InsecureChannelCredentials(), args);
    ASSERT_TRUE(channel_->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(60)));
    jobs_ = v1::Jobs::NewStub(channel_);
  }
  void End(int signal) {
    if (pid_ > 0) ::kill(pid_, signal);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  static int RunToEnd(const std::vector<std::string>& argv) {
    auto spawned = Spawn({"scheduler/sinewd", argv});
    if (!spawned.ok()) return -1;
    int status = 0;
    ::waitpid(spawned->pid, &status, 0);
    return WEXITSTATUS(status);
  }

  // A call by its name, of bytes: as a client with nothing but the wire.
  std::string Call(const std::string& method, const std::string& bytes, grpc::Status* status) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    grpc::CompletionQueue queue;
    auto call = stub.PrepareCall(&context, method, &queue);
    void* tag;
    bool ok = true;
    const auto next = [&] { return queue.Next(&tag, &ok) && ok; };
    call->StartCall(nullptr);
    next();
    const grpc::Slice slice(bytes);
    call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    next();
    std::string out;
    for (grpc::ByteBuffer reply;;) {
      call->Read(&reply, nullptr);
      if (!next()) break;
      std::vector<grpc::Slice> slices;
      reply.Dump(&slices).ok();
      for (const auto& part : slices) out.append(reinterpret_cast<const char*>(part.begin()), part.size());
    }
    call->Finish(status, nullptr);
    next();
    queue.Shutdown();
    return out;
  }

  v1::SubmitJobRequest Request(const std::string& id, const std::string& word) {
    v1::SubmitJobRequest request;
    request.set_request_id(id);
    request.mutable_spec()->set_kind(v1::COMMAND);
    request.mutable_spec()->set_workdir(dir_);
    request.mutable_spec()->mutable_command()->add_argv(word);
    return request;
  }
  grpc::Status Submit(const v1::SubmitJobRequest& request, v1::SubmitJobResponse* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    return jobs_->SubmitJob(&context, request, response);
  }

  std::string dir_;
  pid_t pid_ = 0;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Jobs::Stub> jobs_;
};

TEST_F(DaemonTest, SaysThatItServes) {
  grpc::Status status;
  EXPECT_EQ(Call("/grpc.health.v1.Health/Check", "", &status), std::string("\x08\x01", 2)) << status.error_message();
  Call("/grpc.health.v1.Health/Check", "\x0a\x04none", &status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(DaemonTest, ListsItsServices) {
  grpc::Status status;
  const std::string list_services("\x3a\x00", 2);
  const std::string reply =
      Call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", list_services, &status);
  for (const char* service : {"sinew.v1.Jobs", "sinew.v1.Nodes", "grpc.health.v1.Health"})
    EXPECT_NE(reply.find(service), std::string::npos) << service;
}

TEST_F(DaemonTest, ARequestIdMakesASubmitOnceAlsoOverACrash) {
  v1::SubmitJobResponse first, again, other;
  ASSERT_TRUE(Submit(Request("one", "true"), &first).ok());
  ASSERT_TRUE(Submit(Request("one", "true"), &again).ok());
  EXPECT_EQ(again.job().name(), first.job().name());
  ASSERT_TRUE(Submit(Request("two", "true"), &other).ok());
  EXPECT_NE(other.job().name(), first.job().name());
  End(SIGKILL);
  StartDaemon();
  again.Clear();
  const grpc::Status status = Submit(Request("one", "true"), &again);
  ASSERT_TRUE(status.ok()) << status.error_code() << " " << status.error_message();
  EXPECT_EQ(again.job().name(), first.job().name());
}

TEST_F(DaemonTest, NamesEveryFieldThatIsWrong) {
  v1::SubmitJobRequest request = Request("", "true");
  request.mutable_spec()->mutable_workers()->set_min(5);
  request.mutable_spec()->mutable_workers()->set_max(2);
  request.mutable_spec()->mutable_resources()->set_milli_cpus(-1);
  v1::SubmitJobResponse response;
  const grpc::Status status = Submit(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  std::string fields;
  for (const auto& any : details.details()) {
    google::rpc::BadRequest bad;
    if (!any.UnpackTo(&bad)) continue;
    for (const auto& violation : bad.field_violations()) fields += violation.field() + " ";
  }
  EXPECT_NE(fields.find("workers"), std::string::npos) << fields;
  EXPECT_NE(fields.find("resources.cpus"), std::string::npos) << fields;
}

}  // namespace
}  // namespace sinew
