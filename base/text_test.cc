// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

#include "base/quantity.h"

namespace sinew {
namespace {

TEST(Text, ControlCharactersAndBrokenUtf8BecomeVisible) {
  EXPECT_EQ(EscapeControl("plain ü €"), "plain ü €");
  EXPECT_EQ(EscapeControl("\x1b[2J\n\t\x7f"), "\\x1b[2J\\n\\t\\x7f");
  EXPECT_EQ(EscapeControl("\xc2\x9b"), "\\xc2\\x9b");  // C1: CSI
  EXPECT_EQ(EscapeControl("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_FALSE(IsUtf8("\xc0\xaf"));
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));
  EXPECT_TRUE(IsUtf8("\xf0\x9f\x90\x9f"));
}

TEST(Text, ExactAmountsAreReadBack) {
  for (const int64_t ns : {int64_t{0}, int64_t{1}, int64_t{1'500'000'000}, int64_t{90'000'000'000},
                           int64_t{43'200'000'000'000}, int64_t{172'800'000'000'000}}) {
    EXPECT_EQ(*ParseDurationNs(FormatDuration(ns)), ns) << FormatDuration(ns);
  }
  for (const int64_t bytes : {int64_t{0}, int64_t{1500}, int64_t{32} << 30, int64_t{3} << 20}) {
    EXPECT_EQ(*ParseBytes(FormatBytes(bytes)), bytes) << FormatBytes(bytes);
  }
  EXPECT_EQ(FormatDuration(43'200'000'000'000), "12h");
  EXPECT_EQ(FormatBytes(int64_t{32} << 30), "32Gi");
}

TEST(Text, RoundedAmountsAreShort) {
  EXPECT_EQ(FormatElapsed(52'900'000'000), "52s");
  EXPECT_EQ(FormatElapsed(200'000'000'000), "3m20s");
  EXPECT_EQ(FormatElapsed(7'500'000'000'000), "2h05m");
  EXPECT_EQ(FormatElapsed(-5), "0s");
  EXPECT_EQ(FormatBytesShort(1610612736), "1.5Gi");
  EXPECT_EQ(FormatCpus(1500), "1.5");
  EXPECT_EQ(FormatCpus(2000), "2");
}

TEST(Text, TablesAlignAndAreCutOnlyWhenAsked) {
  Table table({"NAME", "STATE", "AGE"});
  table.Add({"jobs/1", "RUNNING", "5s"});
  table.Add({"jobs/1000", "", "2m00s"});
  EXPECT_EQ(table.Text(), "NAME       STATE    AGE\njobs/1     RUNNING  5s\njobs/1000  <none>   2m00s\n");
  EXPECT_EQ(table.Text(10), "NAME     …\njobs/1   …\njobs/1000…\n");
}

}  // namespace
}  // namespace sinew
