// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"

namespace sinew {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(root_), nullptr); }
  char root_[32] = "/tmp/sinew-files-XXXXXX";
};

TEST_F(Files, AtomicWriteReplacesAndLeavesNoTemporaryFile) {
  const std::string path = std::string(root_) + "/a";
  ASSERT_TRUE(WriteFileAtomic(path, "one").ok());
  ASSERT_TRUE(WriteFileAtomic(path, "two", 0600).ok());
  EXPECT_EQ(*ReadFile(path), "two");
  EXPECT_EQ(*ListDir(root_), std::vector<std::string>{"a"});
  struct stat info;
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(Files, ReadingStopsAtTheLimit) {
  const std::string path = std::string(root_) + "/a";
  ASSERT_TRUE(WriteFileAtomic(path, "12345").ok());
  EXPECT_EQ(ReadFile(path, 4).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(*ReadFile(path, 5), "12345");
}

TEST_F(Files, ErrorsNameThePathAndTheReason) {
  const std::string path = std::string(root_) + "/none/a";
  const absl::Status status = WriteFileAtomic(path, "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(status.message()).find(path), std::string::npos);
  EXPECT_NE(std::string(status.message()).find("No such file"), std::string::npos);
}

TEST_F(Files, MakesParentsAndRefusesAFileInTheWay) {
  const std::string root = root_;
  EXPECT_TRUE(MakeFolders(root + "/a/b/c").ok());
  EXPECT_TRUE(MakeFolders(root + "/a/b/c").ok());
  ASSERT_TRUE(WriteFileAtomic(root + "/file", "").ok());
  EXPECT_FALSE(MakeFolders(root + "/file/x").ok());
}

TEST_F(Files, ExpandsTheHomeFolderAndXdg) {
  ::setenv("HOME", "/h", 1);
  ::setenv("XDG_STATE_HOME", "relative", 1);
  EXPECT_EQ(ExpandUser("~/x"), "/h/x");
  EXPECT_EQ(ExpandUser("~other/x"), "~other/x");
  EXPECT_EQ(StateHome(), "/h/.local/state/sinew");
}

TEST(Clock, BootTimeIsNotBehindMonotonic) {
  const auto mono = MonoNs();
  EXPECT_GE(BootNs(), mono);
  EXPECT_GT(WallNs(), 0);
}

}  // namespace
}  // namespace sinew
