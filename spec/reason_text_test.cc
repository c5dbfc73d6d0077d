// SPDX-License-Identifier: Apache-2.0
#include "spec/reason_text.h"

#include <gtest/gtest.h>

#include <set>

namespace sinew {
namespace {

TEST(ReasonText, EveryCodeHasASentenceOfItsOwn) {
  std::set<std::string> seen;
  const auto* codes = v1::ReasonCode_descriptor();
  for (int i = 0; i < codes->value_count(); ++i) {
    v1::Reason reason;
    reason.set_code(static_cast<v1::ReasonCode>(codes->value(i)->number()));
    const std::string text = ReasonText(reason);
    EXPECT_TRUE(seen.insert(text).second) << text;
    EXPECT_NE(text, codes->value(i)->name()) << "no sentence";
    EXPECT_EQ(ReasonName(reason.code()), codes->value(i)->name());
  }
}

TEST(ReasonText, SaysTheNumbers) {
  v1::Reason reason;
  reason.set_code(v1::INSUFFICIENT_DEVICES);
  reason.set_device_type("cpu-slot");
  reason.set_needed(4);
  reason.set_total_free(1);
  reason.set_best_node_free(1);
  EXPECT_EQ(ReasonText(reason), "needs 4 of cpu-slot; 1 free in all, 1 on the best node");

  reason.Clear();
  reason.set_code(v1::TASK_SIGNALLED);
  reason.set_rank(2);
  reason.set_node("n2");
  reason.set_signal(9);
  EXPECT_EQ(ReasonText(reason), "rank 2 on n2 was ended by signal 9 (KILL)");

  reason.Clear();
  reason.set_code(v1::NEVER_SATISFIABLE);
  reason.set_detail("cpus");
  reason.set_needed(800'000);
  reason.set_total_free(4'000);
  reason.set_best_node_free(2'500);
  EXPECT_EQ(ReasonText(reason),
            "the nodes could not hold it even if they were empty: needs 800 CPUs, all nodes have 4, the largest 2.5");
  reason.set_detail("memory");
  reason.set_needed(int64_t{96} << 30);
  reason.set_total_free(int64_t{64} << 30);
  reason.set_best_node_free(int64_t{64} << 30);
  EXPECT_EQ(ReasonText(reason),
            "the nodes could not hold it even if they were empty: needs 96Gi of memory, all nodes have 64Gi, the largest 64Gi");
  reason.set_detail("devices");
  reason.set_device_type("v100");
  reason.set_needed(9);
  reason.set_total_free(8);
  reason.set_best_node_free(8);
  EXPECT_EQ(ReasonText(reason),
            "the nodes could not hold it even if they were empty: needs 9 of v100, all nodes have 8, the largest 8");

  reason.Clear();
  reason.set_code(v1::START_REFUSED);
  reason.set_detail("/bin/\x1bnope: No such file");
  EXPECT_EQ(ReasonText(reason), "rank 0 could not be started: /bin/\\x1bnope: No such file");

  reason.Clear();
  reason.set_code(static_cast<v1::ReasonCode>(99));
  EXPECT_EQ(ReasonText(reason), "REASON_99");
}

}  // namespace
}  // namespace sinew
