// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline.h"

#include <gtest/gtest.h>

namespace sinew {
namespace {

ClusterState OneNode(int jobs) {
  ClusterState state;
  auto node = std::make_shared<Node>();
  node->name = "n1";
  node->state = NodeState::kUp;
  node->cpus = {2000};
  state.PutNode(node);
  for (int i = 1; i <= jobs; ++i) {
    auto job = std::make_shared<Job>();
    job->id = {static_cast<uint64_t>(i)};
    job->spec.pools = {"default"};
    job->spec.demand.cpus = {1000};
    state.PutJob(job);
  }
  return state;
}

class Failing final : public Stage {
 public:
  Needs needs() const override { return {}; }
  absl::Status Run(const View&, const Changes&, const Answers&, StageState&, Draft& draft) const override {
    draft.Decide({1}, Reject{});
    return absl::InternalError("no idea");
  }
};

class Counter final : public Stage {
 public:
  struct Count final : StageState {
    int runs = 0;
    std::unique_ptr<StageState> Clone() const override { return std::make_unique<Count>(*this); }
    uint32_t version() const override { return 1; }
    std::string Encode() const override { return std::to_string(runs); }
  };
  Needs needs() const override { return {}; }
  std::unique_ptr<StageState> InitialState() const override { return std::make_unique<Count>(); }
  absl::Status DecodeState(uint32_t version, const std::string& bytes,
                           std::unique_ptr<StageState>& state) const override {
    if (version != 1) return absl::UnimplementedError("version");
    auto count = std::make_unique<Count>();
    count->runs = std::atoi(bytes.c_str());
    state = std::move(count);
    return absl::OkStatus();
  }
  absl::Status Run(const View&, const Changes&, const Answers&, StageState& state, Draft&) const override {
    ++static_cast<Count&>(state).runs;
    return absl::OkStatus();
  }
};

Registry WithTestStages() {
  Registry registry = Registry::WithBuiltIns();
  registry.Register("tune", "failing", "", [](StageParams&) { return std::make_unique<Failing>(); });
  registry.Register("admit", "counter", "", [](StageParams&) { return std::make_unique<Counter>(); });
  return registry;
}

PolicySpec With(StageSpec more) {
  PolicySpec spec = DefaultPolicy();
  spec.stages.push_back(std::move(more));
  return spec;
}

TEST(Pipeline, PlacesInOrderUntilNothingFits) {
  auto pipeline = *Pipeline::Make(Registry::WithBuiltIns(), DefaultPolicy());
  const ClusterState state = OneNode(3);
  const OrderIndex order;
  auto result = pipeline->Run(View(state, order, {}, 1, 1, {}));
  EXPECT_FALSE(result.fell_back);
  EXPECT_TRUE(std::holds_alternative<RunProposal>(result.draft.jobs().at({1})));
  EXPECT_TRUE(std::holds_alternative<RunProposal>(result.draft.jobs().at({2})));
  const auto& waits = std::get<Wait>(result.draft.jobs().at({3}));
  EXPECT_EQ(waits.reasons[0].code, ReasonCode::kInsufficientCpus);
}

TEST(Pipeline, AFailingStageCostsItsProposalOnly) {
  auto pipeline = *Pipeline::Make(WithTestStages(), With({"tune", "failing", {}}));
  const ClusterState state = OneNode(1);
  const OrderIndex order;
  auto result = pipeline->Run(View(state, order, {}, 1, 1, {}));
  EXPECT_TRUE(result.fell_back);
  EXPECT_EQ(result.error, "tune/failing: no idea");
  EXPECT_TRUE(std::holds_alternative<RunProposal>(result.draft.jobs().at({1})));
}

TEST(Pipeline, AStateIsKeptOnlyWhenThePassWasAccepted) {
  auto pipeline = *Pipeline::Make(WithTestStages(), With({"admit", "counter", {}}));
  const ClusterState state = OneNode(1);
  const OrderIndex order;
  for (int i = 0; i < 3; ++i) {
    auto what_if = pipeline->Run(View(state, order, {}, 1, 1, {}));
    EXPECT_EQ(what_if.states.at(0).bytes, "1");
  }
  pipeline->Accept(pipeline->Run(View(state, order, {}, 1, 1, {})));
  EXPECT_FALSE(pipeline->WantsToRun());
  pipeline->Note({{1}}, {});
  EXPECT_TRUE(pipeline->WantsToRun());
  EXPECT_EQ(pipeline->Run(View(state, order, {}, 1, 1, {})).states.at(0).bytes, "2");
  pipeline->Restore({{"admit/counter", 1, "41"}});
  EXPECT_EQ(pipeline->Run(View(state, order, {}, 1, 1, {})).states.at(0).bytes, "42");
}

TEST(Registry, RefusesUnknownNamesAndParametersWithAHint) {
  const Registry registry = Registry::WithBuiltIns();
  EXPECT_NE(registry.Make({"place", "pakc", {}}).status().message().find("did you mean \"pack\""),
            absl::string_view::npos);
  EXPECT_NE(registry.Make({"order", "fifo", {{"speed", "1"}}}).status().message().find("fifo.speed"),
            absl::string_view::npos);
  EXPECT_FALSE(Pipeline::Make(registry, {.name = "x", .stages = {{"order", "fifo", {}}}}).ok());
}

}  // namespace
}  // namespace sinew
