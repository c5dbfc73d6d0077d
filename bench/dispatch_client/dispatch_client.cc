// SPDX-License-Identifier: Apache-2.0
// Loads a live daemon with jobs that run `true` and prints one JSON object: jobs per second from the first submit to the
// last durable completion, and percentiles of submit to acknowledgement and submit to process start (the daemon's stamp
// of the agent's report, so an upper bound). A job counts only if it ended COMPLETED.
//   dispatch_client SOCKET JOBS SUBMITTERS RATE
// RATE 0 submits as fast as the answers come; otherwise an open loop of that many jobs a second.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "proto/sinew/v1/job.grpc.pb.h"

namespace {

using Clock = std::chrono::system_clock;
using sinew::v1::Jobs;

struct Sample {
  int64_t submitted_ns = 0;
  int64_t acknowledged_ns = 0;
};

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

int64_t ToNs(const google::protobuf::Timestamp& t) { return t.seconds() * 1'000'000'000 + t.nanos(); }

std::unique_ptr<Jobs::Stub> Connect(const std::string& socket, int which) {
  grpc::ChannelArguments args;
  args.SetInt("sinew.connection", which);  // a connection of its own for each submitter
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return Jobs::NewStub(grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), args));
}

[[noreturn]] void Die(const std::string& what, const grpc::Status& status) {
  std::cerr << "dispatch_client: " << what << ": " << status.error_message() << "\n";
  std::exit(1);
}

void Deadline(grpc::ClientContext& context) {
  context.set_deadline(Clock::now() + std::chrono::seconds(60));
}

void PrintPercentiles(const char* name, std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  auto at = [&](double p) { return ms[std::min(ms.size() - 1, static_cast<size_t>(p * ms.size()))]; };
  std::printf("\"%s\": {\"p50\": %.2f, \"p90\": %.2f, \"p99\": %.2f, \"max\": %.2f}", name, at(0.5), at(0.9), at(0.99),
              ms.back());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: dispatch_client SOCKET JOBS SUBMITTERS RATE\n";
    return 2;
  }
  const std::string socket = argv[1];
  const int jobs = std::atoi(argv[2]);
  const int submitters = std::atoi(argv[3]);
  const double rate = std::atof(argv[4]);

  std::mutex mutex;
  std::map<uint64_t, Sample> samples;
  std::atomic<int> next{0};
  const int64_t begin = NowNs();
  std::vector<std::thread> threads;
  for (int s = 0; s < submitters; ++s) {
    threads.emplace_back([&, s] {
      auto stub = Connect(socket, s);
      for (int i; (i = next.fetch_add(1)) < jobs;) {
        if (rate > 0) {
          std::this_thread::sleep_until(Clock::time_point(std::chrono::nanoseconds(
              begin + static_cast<int64_t>(i / rate * 1e9))));
        }
        sinew::v1::SubmitJobRequest request;
        request.set_request_id("bench-" + std::to_string(begin) + "-" + std::to_string(i));
        auto* spec = request.mutable_spec();
        spec->set_kind(sinew::v1::COMMAND);
        spec->set_workdir("/tmp");
        spec->mutable_command()->add_argv("true");
        grpc::ClientContext context;
        Deadline(context);
        sinew::v1::SubmitJobResponse response;
        Sample sample;
        sample.submitted_ns = NowNs();
        if (auto status = stub->SubmitJob(&context, request, &response); !status.ok()) Die("SubmitJob", status);
        sample.acknowledged_ns = NowNs();
        std::lock_guard lock(mutex);
        samples[response.job().id()] = sample;
      }
    });
  }
  for (auto& t : threads) t.join();

  auto stub = Connect(socket, -1);
  // As often as bench/dispatch asks squeue; the end is the daemon's stamp, and not when it was seen.
  for (int64_t give_up = NowNs() + 600'000'000'000;; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
    sinew::v1::ListJobsRequest request;
    request.set_page_size(1);
    grpc::ClientContext context;
    Deadline(context);
    sinew::v1::ListJobsResponse response;
    if (auto status = stub->ListJobs(&context, request, &response); !status.ok()) Die("ListJobs", status);
    if (response.jobs().empty()) break;
    if (NowNs() > give_up) {
      std::cerr << "dispatch_client: jobs/" << response.jobs(0).id() << " did not end within 600 s\n";
      return 1;
    }
  }

  std::vector<double> to_ack, to_start;
  int64_t last_end = begin;
  int completed = 0;
  std::string token;
  do {
    sinew::v1::ListJobsRequest request;
    request.set_page_size(500);
    request.set_include_ended(true);
    request.set_page_token(token);
    grpc::ClientContext context;
    Deadline(context);
    sinew::v1::ListJobsResponse response;
    if (auto status = stub->ListJobs(&context, request, &response); !status.ok()) Die("ListJobs", status);
    for (const auto& job : response.jobs()) {
      auto it = samples.find(job.id());
      if (it == samples.end() || job.state() != sinew::v1::COMPLETED) continue;
      ++completed;
      last_end = std::max(last_end, ToNs(job.ended()));
      to_ack.push_back((it->second.acknowledged_ns - it->second.submitted_ns) / 1e6);
      to_start.push_back((ToNs(job.tasks(0).started()) - it->second.submitted_ns) / 1e6);
    }
    token = response.next_page_token();
  } while (!token.empty());

  if (completed != jobs) {
    std::cerr << "dispatch_client: " << completed << " of " << jobs << " jobs completed\n";
    return 1;
  }
  std::printf("{\"jobs\": %d, \"seconds\": %.3f, \"jobs_per_second\": %.1f, ", jobs, (last_end - begin) / 1e9,
              jobs / ((last_end - begin) / 1e9));
  PrintPercentiles("submit_to_acknowledged_ms", to_ack);
  std::printf(", ");
  PrintPercentiles("submit_to_started_ms", to_start);
  std::printf("}\n");
  return 0;
}
