// SPDX-License-Identifier: Apache-2.0
#include "agent/discover/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace sinew::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NvmlTest : public testing::Test {
 protected:
  std::vector<v1::DeviceInfo> Find(const char* gpus, const std::string& sysroot = "/nonexistent") {
    ::setenv("SINEW_FAKE_NVML", gpus, 1);
    const std::string library = std::string(::getenv("TEST_SRCDIR")) + "/" + ::getenv("TEST_WORKSPACE") +
                                "/agent/discover/libfake_nvml.so";
    const auto found = NvidiaDevices(library, sysroot, [&](const std::string& text) { warnings_.push_back(text); });
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(std::vector<v1::DeviceInfo>());
  }

  static std::vector<int> Islands(const std::vector<v1::DeviceInfo>& devices) {
    std::vector<int> islands;
    for (const v1::DeviceInfo& device : devices) islands.push_back(device.island());
    return islands;
  }

  std::vector<std::string> warnings_;
};

TEST_F(NvmlTest, GpusHaveTypeMemoryPowerAndIslands) {
  const auto found = Find("v100@0 v100@0 v100@1 v100@1");
  ASSERT_EQ(found.size(), 4u);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].index(), static_cast<int>(i));
    EXPECT_EQ(found[i].uuid(), "GPU-" + std::to_string(i));
    EXPECT_EQ(found[i].type(), "v100");
    EXPECT_EQ(found[i].memory_bytes(), int64_t{32} << 30);
    EXPECT_EQ(found[i].max_milliwatts(), 300'000);
    EXPECT_EQ(found[i].numa_node(), -1);
  }
  EXPECT_THAT(Islands(found), ElementsAre(0, 0, 1, 1));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(NvmlTest, WithoutNvlinkTheNumaNodeIsTheIsland) {
  const std::string root = testing::TempDir() + "/nvml_root";
  for (const auto& [bus, numa] : {std::pair("0000:0a:00.0", 0), std::pair("0000:0b:00.0", 1)}) {
    std::filesystem::create_directories(root + "/sys/bus/pci/devices/" + bus);
    std::ofstream(root + "/sys/bus/pci/devices/" + bus + "/numa_node") << numa << "\n";
  }
  const auto found = Find("v100 v100", root);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].numa_node(), 0);
  EXPECT_EQ(found[1].numa_node(), 1);
  EXPECT_THAT(Islands(found), ElementsAre(0, 1));
  std::filesystem::remove_all(root);
}

TEST_F(NvmlTest, ALostGpuIsLeftOutWithAWarning) {
  const auto found = Find("v100@0 lost v100@0");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].index(), 1);
  EXPECT_EQ(found[1].uuid(), "GPU-2");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("GPU 1"));
  EXPECT_THAT(warnings_[0], HasSubstr("GPU is lost"));
}

TEST_F(NvmlTest, InstancesOfMigAreTheDevices) {
  const auto found = Find("a100mig");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].uuid(), "MIG-1");
  EXPECT_EQ(found[1].uuid(), "MIG-2");
  EXPECT_EQ(found[1].type(), "a100-1g.5gb");
  EXPECT_EQ(found[1].memory_bytes(), int64_t{5} << 30);
}

TEST_F(NvmlTest, ADriverThatIsNotLoadedIsNoGpu) {
  EXPECT_TRUE(Find("noinit").empty());
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("Driver Not Loaded"));
}

TEST_F(NvmlTest, ALibraryWithoutItsFunctionsIsNoGpu) {
  const auto found = NvidiaDevices("libz.so.1", "", [&](const std::string& text) { warnings_.push_back(text); });
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->empty());
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(NvmlTest, ALibraryThatWasNamedMustLoad) {
  const auto found = NvidiaDevices("/nonexistent.so", "", [](const std::string&) {});
  EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("--nvml /nonexistent.so"));
}

TEST(NvidiaTypeTest, IsTheProductsShortName) {
  EXPECT_EQ(NvidiaType("Tesla V100-SXM2-32GB"), "v100");
  EXPECT_EQ(NvidiaType("NVIDIA GeForce RTX 3090"), "rtx-3090");
  EXPECT_EQ(NvidiaType("NVIDIA GeForce RTX 3080 Ti"), "rtx-3080-ti");
  EXPECT_EQ(NvidiaType("NVIDIA A100-SXM4-40GB MIG 1g.5gb"), "a100-1g.5gb");
  EXPECT_EQ(NvidiaType("NVIDIA H200"), "h200");
  EXPECT_EQ(NvidiaType(""), "gpu");
  EXPECT_EQ(NvidiaType("  -- "), "gpu");
  EXPECT_LE(NvidiaType(std::string(300, 'x')).size(), 63u);
}

}  // namespace
}  // namespace sinew::agent
