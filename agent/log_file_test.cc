// SPDX-License-Identifier: Apache-2.0
#include "agent/log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace sinew::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Write(const std::string& name, const std::string& content) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string Tail(const std::string& path, int64_t lines) {
  auto log = LogFile::Open(path, std::nullopt, lines);
  EXPECT_TRUE(log.ok()) << log.status();
  std::string all;
  for (std::string more; !(more = log->Read(7).value()).empty();) all += more;
  return all;
}

TEST(LogFile, BeginsAtTheLastLines) {
  const std::string path = Write("some", "one\ntwo\nthree\n");
  EXPECT_EQ(Tail(path, 0), "one\ntwo\nthree\n");
  EXPECT_EQ(Tail(path, 1), "three\n");
  EXPECT_EQ(Tail(path, 2), "two\nthree\n");
  EXPECT_EQ(Tail(path, 9), "one\ntwo\nthree\n");
  EXPECT_EQ(Tail(Write("open", "one\ntwo"), 1), "two") << "a line that is not finished is a line";
  EXPECT_EQ(Tail(Write("none", ""), 3), "");
  EXPECT_EQ(Tail(Write("feeds", "\n\n\n"), 2), "\n\n");
}

TEST(LogFile, FindsTheTailAcrossBlocks) {
  std::string content;
  for (int i = 0; i < 50'000; ++i) content += "line " + std::to_string(i) + "\n";
  const std::string tail = Tail(Write("long", content), 20'000);
  EXPECT_EQ(tail, content.substr(content.find("line 30000\n")));
}

TEST(LogFile, GrowsWhileItIsRead) {
  const std::string path = Write("grows", "a");
  auto log = LogFile::Open(path, std::nullopt, 0);
  EXPECT_EQ(*log->Read(100), "a");
  EXPECT_EQ(*log->Read(100), "");
  std::ofstream(path, std::ios::app) << "b";
  EXPECT_EQ(*log->Read(100), "b");
}

TEST(LogFile, LendsNobodyTheAgentsEyes) {
  const std::string secret = Write("secret", "mine\n");
  const std::string link = ::testing::TempDir() + "/link";
  ::unlink(link.c_str());
  ASSERT_EQ(::symlink(secret.c_str(), link.c_str()), 0);
  EXPECT_FALSE(LogFile::Open(link, ::getuid(), 0).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(LogFile::Open(secret, ::getuid() + 1, 0).status()));
  EXPECT_TRUE(LogFile::Open(secret, ::getuid(), 0).ok());
  const std::string pipe = ::testing::TempDir() + "/pipe";
  ::unlink(pipe.c_str());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(std::string(LogFile::Open(pipe, ::getuid(), 0).status().message()), HasSubstr("not a file"));
  EXPECT_TRUE(absl::IsNotFound(LogFile::Open("/no/such/file", std::nullopt, 0).status()));
}

TEST(LastLines, AreFewShortAndHarmless) {
  EXPECT_THAT(LastLines(Write("l", "a\nb\x1b[2J\nc\n"), std::nullopt, 2), ElementsAre("b\\x1b[2J", "c"));
  const auto lines = LastLines(Write("bar", std::string(2'000'000, '#') + "\nend\n"), std::nullopt, 2);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_LT(lines[0].size(), 500u);
  EXPECT_EQ(lines[1], "end");
  EXPECT_TRUE(LastLines("/no/such/file", std::nullopt, 2).empty());
}

}  // namespace
}  // namespace sinew::agent
