// SPDX-License-Identifier: Apache-2.0
// Machines that are not here, as folders with their /proc and /sys. The numbers of Knights Landing's modes are those
// that Intel's processors show: 68 cores of 4 threads, 96 GiB, 16 GiB of MCDRAM of which the kernel keeps some.
#include "agent/discover/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/discover/knl.h"
#include "agent/discover/limits.h"

namespace sinew::agent {
namespace {

constexpr int64_t kGi = int64_t{1} << 30;

class MachineTest : public testing::Test {
 protected:
  MachineTest() {
    root_ = testing::TempDir() + "/machine_XXXXXX";
    EXPECT_NE(::mkdtemp(root_.data()), nullptr);
  }
  ~MachineTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  void Processor(const std::string& vendor, int family, int model) {
    Write("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: " + vendor + "\ncpu family\t: " + std::to_string(family) +
                               "\nmodel\t\t: " + std::to_string(model) + "\nmodel name\t: A processor    \n\n");
  }

  // One NUMA node; cpus "" = memory only.
  void Numa(int index, const std::string& cpus, int64_t kibibytes) {
    const std::string own = "/sys/devices/system/node/node" + std::to_string(index);
    Write(own + "/cpulist", cpus + "\n");
    Write(own + "/meminfo", "Node " + std::to_string(index) + " MemTotal:       " + std::to_string(kibibytes) +
                                " kB\nNode " + std::to_string(index) + " MemFree: 1 kB\n");
    Write("/sys/devices/system/node/online", "0-" + std::to_string(index) + "\n");
  }

  std::optional<KnlModes> Knl() { return ReadKnl(root_, ReadKernelNuma(root_)); }

  std::string root_;
};

struct Shape {
  const char* cluster;
  const char* memory;
  std::vector<std::pair<const char*, int64_t>> numa;
};

TEST_F(MachineTest, KnightsLandingsModesAreToldByTheirNumaNodes) {
  const int64_t ddr = 98'860'000;
  const Shape shapes[] = {
      {"quadrant", "cache", {{"0-271", ddr}}},
      {"quadrant", "flat", {{"0-271", ddr}, {"", 16'516'000}}},
      {"quadrant", "hybrid25", {{"0-271", ddr}, {"", 12'386'000}}},
      {"quadrant", "hybrid50", {{"0-271", ddr}, {"", 8'258'000}}},
      {"snc2", "cache", {{"0-135", ddr / 2}, {"136-271", ddr / 2}}},
      {"snc2", "flat", {{"0-135", ddr / 2}, {"136-271", ddr / 2}, {"", 8'258'000}, {"", 8'256'000}}},
      {"snc4", "flat", {{"0-71", ddr / 4 - 50'000}, {"72-143", ddr / 4}, {"144-207", ddr / 4}, {"208-271", ddr / 4},
                        {"", 4'129'000}, {"", 4'129'000}, {"", 4'129'000}, {"", 4'128'000}}},
      {"snc4", "hybrid50", {{"0-71", ddr / 4 - 50'000}, {"72-143", ddr / 4}, {"144-207", ddr / 4}, {"208-271", ddr / 4},
                            {"", 2'064'000}, {"", 2'064'000}, {"", 2'064'000}, {"", 2'063'000}}},
  };
  for (const Shape& shape : shapes) {
    std::filesystem::remove_all(root_);
    Processor("GenuineIntel", 6, 87);
    int index = 0;
    for (const auto& [cpus, kibibytes] : shape.numa) Numa(index++, cpus, kibibytes);
    const auto modes = Knl();
    ASSERT_TRUE(modes.has_value());
    EXPECT_EQ(modes->cluster, shape.cluster) << shape.memory;
    EXPECT_EQ(modes->memory, shape.memory) << shape.cluster;
    EXPECT_EQ(modes->source, "guessed");
  }
}

TEST_F(MachineTest, WhatTheFirmwareSaidIsBetterThanAGuess) {
  Processor("GenuineIntel", 6, 133);  // Knights Mill
  Numa(0, "0-271", 98'860'000);
  Write("/run/hwloc/knl_memoryside_cache",
        "version: 2\ncache_size: 8589934592\nline_size: 64\ncluster_mode: Hemisphere\nmemory_mode: Hybrid50\n");
  auto modes = Knl();
  ASSERT_TRUE(modes.has_value());
  EXPECT_EQ(modes->cluster, "hemisphere");
  EXPECT_EQ(modes->memory, "hybrid50");
  EXPECT_EQ(modes->source, "smbios");
  // A dump that cannot be: guess.
  Write("/run/hwloc/knl_memoryside_cache", "cluster_mode: Dodecagon\nmemory_mode: Flat\n");
  modes = Knl();
  ASSERT_TRUE(modes.has_value());
  EXPECT_EQ(modes->cluster, "quadrant");
  EXPECT_EQ(modes->source, "guessed");
}

TEST_F(MachineTest, OtherProcessorsAreNoKnightsLanding) {
  Numa(0, "0-3", 8'000'000);
  EXPECT_FALSE(Knl().has_value());  // no cpuinfo at all
  Processor("GenuineIntel", 6, 85);
  EXPECT_FALSE(Knl().has_value());
  Processor("AuthenticAMD", 6, 87);
  EXPECT_FALSE(Knl().has_value());
  Processor("GenuineIntel", 15, 87);
  EXPECT_FALSE(Knl().has_value());
}

TEST_F(MachineTest, NumaNodesThatCannotBeReadAreNone) {
  EXPECT_TRUE(ReadKernelNuma(root_).empty());
  Write("/sys/devices/system/node/online", "not a list\n");
  EXPECT_TRUE(ReadKernelNuma(root_).empty());
  Write("/sys/devices/system/node/online", "0-1\n");
  Write("/sys/devices/system/node/node0/cpulist", "0\n");
  Write("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: -5 kB\n");
  const auto nodes = ReadKernelNuma(root_);  // node 1 has nothing
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].memory_bytes, 0);
}

TEST_F(MachineTest, NoCgroupIsNoLimit) {
  const Limits limits = CgroupLimits(root_);
  EXPECT_EQ(limits.milli_cpus, INT64_MAX);
  EXPECT_EQ(limits.memory_bytes, INT64_MAX);
}

TEST_F(MachineTest, TheSmallestLimitOfTheGroupAndItsAncestorsHolds) {
  Write("/proc/self/cgroup", "0::/a/b\n");
  Write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "8589934592\n");
  Write("/sys/fs/cgroup/a/memory.max", "max\n");
  Write("/sys/fs/cgroup/memory.max", "17179869184\n");
  const Limits limits = CgroupLimits(root_);
  EXPECT_EQ(limits.milli_cpus, 1500);
  EXPECT_EQ(limits.memory_bytes, 8 * kGi);
}

TEST_F(MachineTest, VersionOneAndBothAtOnce) {
  Write("/proc/self/cgroup", "3:cpu,cpuacct:/x\n2:memory:/\n1:name=systemd:/x\n0::/x\nnonsense\n");
  Write("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4294967296\n");
  Write("/sys/fs/cgroup/unified/x/cpu.max", "300000 100000\n");
  const Limits limits = CgroupLimits(root_);
  EXPECT_EQ(limits.milli_cpus, 3000);
  EXPECT_EQ(limits.memory_bytes, 4 * kGi);
}

TEST_F(MachineTest, AnOddCgroupIsNoLimitAndLeadsNowhere) {
  Write("/proc/self/cgroup", "0::/../../etc\n0::/y\n");
  Write("/etc/memory.max", "1\n");
  Write("/sys/fs/cgroup/y/cpu.max", "0 0\n");
  Write("/sys/fs/cgroup/y/memory.max", "12 elephants");
  const Limits limits = CgroupLimits(root_);
  EXPECT_EQ(limits.milli_cpus, INT64_MAX);
  EXPECT_EQ(limits.memory_bytes, 12);
}

TEST_F(MachineTest, ThisMachineHasWhatTheSystemSays) {
  const auto node = DiscoverMachine({});
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_GT(node->milli_cpus(), 0);
  EXPECT_LE(node->milli_cpus(), ::sysconf(_SC_NPROCESSORS_ONLN) * 1000);
  EXPECT_GT(node->memory_bytes(), 0);
  EXPECT_LE(node->memory_bytes(), int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE));
  EXPECT_GE(node->numa_size(), 1);
  EXPECT_FALSE(node->described());
}

// Last: it leaves hwloc's environment variables behind.
TEST_F(MachineTest, ZAKnightsLandingInSnc4IsFourDevices) {
  Processor("GenuineIntel", 6, 87);
  std::string online;
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string own = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    char mask[16];
    std::snprintf(mask, sizeof mask, "%08x\n", 1u << cpu);
    Write(own + "core_id", std::to_string(cpu) + "\n");
    Write(own + "physical_package_id", "0\n");
    Write(own + "thread_siblings", mask);
    Write(own + "core_siblings", "000000ff\n");
    Write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online", "1\n");
  }
  Write("/sys/devices/system/cpu/online", "0-7\n");
  Write("/sys/devices/system/cpu/possible", "0-7\n");
  for (int i = 0; i < 8; ++i) {
    const bool cpus = i < 4;
    char mask[16];
    std::snprintf(mask, sizeof mask, "%08x\n", cpus ? 3u << (2 * i) : 0u);
    Numa(i, cpus ? std::to_string(2 * i) + "-" + std::to_string(2 * i + 1) : "", cpus ? 24'000'000 : 4'128'000);
    Write("/sys/devices/system/node/node" + std::to_string(i) + "/cpumap", mask);
    std::string distances;
    for (int j = 0; j < 8; ++j) distances += (j == i ? "10" : j % 4 == i % 4 ? "31" : "41") + std::string(j < 7 ? " " : "\n");
    Write("/sys/devices/system/node/node" + std::to_string(i) + "/distance", distances);
  }
  const auto node = DiscoverMachine({.sysroot = root_});
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->cpu_model(), "A processor") << "not padded";
  EXPECT_EQ(node->milli_cpus(), 8000);
  EXPECT_EQ(node->numa_size(), 8);
  EXPECT_EQ(node->memory_bytes(), int64_t{4} * 24'000'000 * 1024) << "memory without CPUs is not the node's";
  EXPECT_EQ(node->knl_cluster_mode(), "snc4");
  EXPECT_EQ(node->knl_memory_mode(), "flat");
  ASSERT_EQ(node->devices_size(), 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(node->devices(i).type(), "knl");
    EXPECT_EQ(node->devices(i).numa_node(), i);
  }
}

TEST_F(MachineTest, ZASysrootThatIsNotThereIsRefused) {
  const auto node = DiscoverMachine({.sysroot = root_ + "/nowhere"});
  EXPECT_EQ(node.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(node.status().message()), testing::HasSubstr("/nowhere"));
}

}  // namespace
}  // namespace sinew::agent
