// SPDX-License-Identifier: Apache-2.0
// Stages that lie, and events in any order: the engine keeps its promises, and does the same twice.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "scheduler/engine/dump.h"
#include "scheduler/engine/engine.h"
#include "scheduler/engine/plan_check.h"
#include "scheduler/engine/testing.h"

namespace sinew {
namespace {

using testing::Bench;
using testing::kSecond;
using testing::Register;
using testing::Spec;

using Proposal = std::function<void(const View&, Draft&)>;

class Lying final : public Stage {
 public:
  explicit Lying(Proposal proposal) : proposal_(std::move(proposal)) {}
  Needs needs() const override { return {}; }
  absl::Status Run(const View& view, const Changes&, const Answers&, StageState&, Draft& draft) const override {
    proposal_(view, draft);
    return absl::OkStatus();
  }

 private:
  Proposal proposal_;
};

std::unique_ptr<Bench> WithLies(Proposal proposal) {
  Registry registry = Registry::WithBuiltIns();
  registry.Register("tune", "lying", "", [proposal](StageParams&) { return std::make_unique<Lying>(proposal); });
  PolicySpec policy = DefaultPolicy();
  policy.stages.push_back({"tune", "lying", {}});
  return std::make_unique<Bench>(registry, policy);
}

RunProposal At(std::vector<TaskPlacement> tasks, int workers = -1) {
  RunProposal run;
  run.workers = workers < 0 ? static_cast<int>(tasks.size()) : workers;
  run.tasks = std::move(tasks);
  return run;
}

TEST(PlanCheck, RefusesEveryKindOfNonsenseAndTakesNothing) {
  Bench b;
  b.Do({Register("n1", 2, 2000), Register("n2", 2, 2000)});
  b.Do({NodeStateEvent{{1}, NodeState::kLost}});
  const JobId id = b.Submit(Spec(2, 1));
  const auto check = [&](RunProposal run, const char* words) {
    PlanCheck check(b.engine->state());
    const absl::Status status = check.Take(b.Job(id).get(), run);
    EXPECT_FALSE(status.ok()) << words;
    EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
    EXPECT_TRUE(check.Take(b.Job(id).get(), At({{0, {0}, {0}}, {1, {0}, {1}}})).ok()) << words;
  };
  check(At({{0, {0}, {0}}}), "1 workers");
  check(At({{0, {0}, {0}}}, 2), "places for 1 of 2");
  check(At({{0, {0}, {0}}, {1, {0}, {0}}}), "is taken");
  check(At({{0, {0}, {0}}, {0, {0}, {1}}}), "rank 0 where 1");
  check(At({{1, {0}, {0}}, {0, {0}, {1}}}), "rank 1 where 0");
  check(At({{0, {0}, {0}}, {1, {0}, {}}}), "0 devices");
  check(At({{0, {0}, {0}}, {1, {0}, {7}}}), "no device 7");
  check(At({{0, {0}, {0}}, {1, {0}, {-1}}}), "no device -1");
  check(At({{0, {0}, {0}}, {1, {9}, {0}}}), "no such node");
  check(At({{0, {0}, {0}}, {1, {1}, {0}}}), "is not up");
  RunProposal level = At({{0, {0}, {0}}, {1, {0}, {1}}});
  level.within = Level::kNode;
  check(level, "no mechanism");
  RunProposal alternative = At({{0, {0}, {0}}, {1, {0}, {1}}});
  alternative.device_alternative = 3;
  check(alternative, "no such device alternative");
  PlanCheck check_unknown(b.engine->state());
  EXPECT_FALSE(check_unknown.Take(nullptr, At({})).ok());
}

TEST(PlanCheck, CountsCpusAndMemoryOverAllProposalsOfAPass) {
  Bench b;
  b.Do({Register("n1", 0, 2000)});
  const JobId one = b.Submit(Spec(1)), two = b.Submit(Spec(1)), three = b.Submit(Spec(1));
  PlanCheck check(b.engine->state());
  EXPECT_TRUE(check.Take(b.Job(one).get(), At({{0, {0}, {}}})).ok());
  EXPECT_TRUE(check.Take(b.Job(two).get(), At({{0, {0}, {}}})).ok());
  EXPECT_FALSE(check.Take(b.Job(three).get(), At({{0, {0}, {}}})).ok());
}

TEST(Hostile, AStageThatBooksTwiceStartsOneJobOnly) {
  auto b = WithLies([](const View& view, Draft& draft) {
    for (const JobId id : view.cluster().pending()) draft.Decide(id, At({{0, {0}, {0}}}));
  });
  b->Do({Register("n1", 1)});
  const JobId one = b->Submit(Spec(1, 1)), two = b->Submit(Spec(1, 1));
  b->PlanAll();
  EXPECT_EQ(b->Job(one)->state, JobState::kRunning);
  EXPECT_EQ(b->Job(two)->state, JobState::kPending);
  EXPECT_TRUE(b->Invariants().ok());
}

TEST(Hostile, AStageThatThrowsCostsItsProposalOnly) {
  auto b = WithLies([](const View&, Draft&) { throw std::runtime_error("boom"); });
  b->Do({Register("n1", 1)});
  const JobId id = b->Submit(Spec(1, 1));
  const Transaction t = b->Plan();
  EXPECT_TRUE(t.plan_fell_back);
  EXPECT_NE(t.plan_error.find("boom"), std::string::npos);
  EXPECT_EQ(b->engine->policy_error(), t.plan_error);
  EXPECT_EQ(b->Job(id)->state, JobState::kRunning);
}

// Random events, some nonsense, some commits that fail; two engines in step.
TEST(Property, SameEventsGiveTheSameBytesAndInvariantsHold) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto roll = [&](uint32_t n) { return static_cast<int>(rng() % n); };
    Bench a, b;
    for (int step = 0; step < 400; ++step) {
      std::vector<Event> events;
      for (int k = roll(4); k >= 0; --k) {
        switch (roll(12)) {
          case 0: {
            auto e = Register("n" + std::to_string(roll(4)), roll(4), 1000 * (1 + roll(8)),
                              "boot-" + std::to_string(roll(20) == 0));
            for (const auto& [id, job] : a.engine->state().jobs()) {
              for (const Task& t : job->tasks) {
                if (roll(4)) e.held.push_back({{id, job->run, t.rank}, static_cast<HeldTask::State>(roll(5)), 0});
              }
            }
            e.from_configuration = roll(5) == 0;
            events.push_back(e);
            break;
          }
          case 1: events.push_back(NodeStateEvent{{static_cast<uint32_t>(roll(5))},
                                                  static_cast<NodeState>(2 + roll(3))}); break;
          case 2: {
            SubmitEvent e;
            e.token = static_cast<uint64_t>(step) * 10 + k + 1;
            e.request_id = roll(3) ? std::to_string(roll(50)) : "";
            e.spec = Spec(1 + roll(4), roll(3));
            e.spec.rendezvous = roll(3) == 0;
            e.spec.retry_max = roll(2);
            e.spec.retry_on_signal = e.spec.retry_on_node_fail = true;
            e.spec.time_limit = {roll(3) == 0 ? 5 * kSecond : 0};
            events.push_back(e);
            break;
          }
          case 3: {
            CancelEvent e;
            e.token = 5;
            e.caller_is_operator = true;
            e.job = {static_cast<uint64_t>(roll(60))};
            if (roll(2) == 0) events.push_back(e);
            break;
          }
          case 4: {
            JobControlEvent e;
            e.token = 6;
            e.caller_is_operator = roll(2) == 0;
            e.job = {static_cast<uint64_t>(roll(60))};
            e.verb = static_cast<JobControlEvent::Verb>(roll(3));
            e.hold = roll(3) == 0;
            events.push_back(e);
            break;
          }
          case 5: {
            NodeControlEvent e;
            e.token = 7;
            e.node = "n" + std::to_string(roll(5));
            e.verb = static_cast<NodeControlEvent::Verb>(roll(3));
            if (roll(2)) e.deadline_ns = roll(8) * kSecond;
            e.force = roll(2) == 0;
            events.push_back(e);
            break;
          }
          default: {
            if (a.engine->state().active().empty()) break;
            auto it = a.engine->state().active().begin();
            std::advance(it, roll(a.engine->state().active().size()));
            const JobPtr job = a.Job(*it);
            const Task& task = job->tasks[roll(job->tasks.size())];
            const TaskKey key{job->id, job->run - (roll(20) == 0), task.rank};
            const NodeId node = roll(20) == 0 ? NodeId{99} : task.node;
            switch (roll(5)) {
              case 0:
              case 1: events.push_back(TaskReadyEvent{node, key, {{"k", "v"}}, 5}); break;
              case 2: events.push_back(TaskStartedEvent{node, key}); break;
              case 3: {
                TaskExitedEvent e;
                e.node = node;
                e.key = key;
                e.exit_code = roll(3) ? 0 : 75 * roll(2) + 1;
                e.signal = roll(5) == 0 ? 9 : 0;
                e.status_lost = roll(10) == 0;
                e.never_started = roll(10) == 0;
                events.push_back(e);
                break;
              }
              default: if (roll(4) == 0) events.push_back(TaskRefusedEvent{node, key, "no"});
            }
          }
        }
      }
      const bool fails = roll(8) == 0;
      const auto run = [&](auto call) {
        const Transaction ta = call(*a.engine, a.now);
        const Transaction tb = call(*b.engine, b.now);
        ASSERT_EQ(Dump(ta), Dump(tb));
        if (fails) {
          a.engine->Abandon(ta);
          b.engine->Abandon(tb);
        } else {
          a.engine->Commit(ta, a.now);
          b.engine->Commit(tb, b.now);
        }
        const absl::Status status = a.Invariants();
        ASSERT_TRUE(status.ok()) << "step " << step << ": " << status;
      };
      run([&](Engine& e, Now now) { return e.Apply(events, now); });
      if (HasFatalFailure()) return;
      if (roll(2) && a.engine->NeedsPlan()) run([&](Engine& e, Now now) { return e.Plan(now); });
      if (HasFatalFailure()) return;
      const int64_t passed = roll(3) * kSecond;
      a.Pass(passed);
      b.Pass(passed);
      // A gang runs whole: no rank is still being prepared once it was told to go.
      for (const auto& [id, job] : a.engine->state().jobs()) {
        if (!job->go || job->state != JobState::kRunning || job->tasks.size() < 2) continue;
        for (const Task& t : job->tasks) ASSERT_NE(t.state, TaskState::kPreparing) << "step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace sinew
