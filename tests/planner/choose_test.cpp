#include "planner/choose.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyrank::planner {
namespace {

using kernels::Device;
using kernels::KeyWidth;
using kernels::SkylineShape;
using kernels::TopKShape;
using testing::HasSubstr;

SkylineShape skyline(std::size_t n, std::size_t d, bool general = false) {
  return {.n = n, .d = d, .width = KeyWidth::bytes4, .general_order = general};
}

TopKShape topk(std::size_t n, std::size_t k, std::vector<KeyWidth> widths = {KeyWidth::bytes4}) {
  return {.n = n, .k = k, .widths = std::move(widths), .ties = kernels::TieRule::first};
}

Constraints forced(std::vector<std::string> names) {
  return {.device = {}, .algorithms = std::move(names), .parameters = {}};
}

/// Why there is no path, or empty when there is one.
template <class Shape>
std::string refusal(const Shape& shape, const Constraints& constraints, const Machine& machine = {}) {
  try {
    choose(shape, constraints, machine);
  } catch (const NoPath& no_path) {
    return no_path.reason;
  }
  return {};
}

TEST(Choose, FewRowsTakeAHeapAndManyASample) {
  EXPECT_EQ(choose(topk(100, 1), {}, {}).algorithm->name, "heap");
  EXPECT_EQ(choose(topk(1000, 10), {}, {}).algorithm->name, "heap");
  for (const std::size_t k : {1, 10, 1000, 100000}) {
    EXPECT_EQ(choose(topk(1000000, k), {}, {}).algorithm->name, "sampled-threshold") << k;
    EXPECT_EQ(choose(topk(10000000, k), {}, {.threads = 8}).algorithm->name, "sampled-threshold") << k;
  }
}

TEST(Choose, WideRankingsOfAllRowsSort) {
  EXPECT_EQ(choose(topk(1000000, 900000, {KeyWidth::bytes8, KeyWidth::bytes8}), {}, {}).algorithm->name, "sort");
}

TEST(Choose, GeneralOrdersTakeBlockNestedLoops) {
  const auto choice = choose(skyline(100000, 4, true), {}, {});
  EXPECT_EQ(choice.algorithm->name, "bnl");
  for (const Considered& other : choice.others) {
    EXPECT_FALSE(other.reason.empty()) << other.algorithm;
    const bool refused = other.reason.find("Pareto") != std::string::npos || other.reason.starts_with("needs a GPU");
    EXPECT_TRUE(other.seconds || refused) << other.reason;
  }
}

TEST(Choose, TinySkylinesDoNotSort) { EXPECT_EQ(choose(skyline(10, 3), {}, {}).algorithm->name, "bnl"); }

TEST(Choose, LargeSkylinesUseBitmaps) {
  EXPECT_EQ(choose(skyline(1000000, 8), {}, {.threads = 2}).algorithm->name, "blocked-bitmap");
  EXPECT_EQ(choose(skyline(1000000, 12), {}, {.threads = 16}).algorithm->name, "blocked-bitmap");
}

TEST(Choose, TheCheapestWinsAndTheOthersSayWhyNot) {
  const auto choice = choose(topk(100000, 10), {}, {});
  EXPECT_EQ(choice.others.size() + 1, kernels::topk_algorithms().size());
  for (const Considered& other : choice.others) {
    EXPECT_NE(other.algorithm, choice.algorithm->name);
    EXPECT_FALSE(other.reason.empty());
    EXPECT_GE(other.seconds.value_or(1e9), choice.seconds);
  }
  EXPECT_THAT(choice.reason, HasSubstr("cheapest"));
}

TEST(Choose, EmptyProblemsHaveAPath) {
  EXPECT_NE(choose(skyline(0, 1), {}, {}).algorithm, nullptr);
  EXPECT_NE(choose(topk(0, 0), {}, {}).algorithm, nullptr);
}

TEST(Choose, ForcedAlgorithmsOfThisKind) {
  for (const auto* algorithm : kernels::topk_algorithms()) {
    if (algorithm->device == Device::cuda) continue;
    const auto choice = choose(topk(1000, 10), forced({std::string(algorithm->name)}), {});
    EXPECT_EQ(choice.algorithm, algorithm);
    EXPECT_EQ(choice.reason, "asked for");
  }
  // Of several, the cheapest; names of another kind are for another operator.
  EXPECT_EQ(choose(topk(1000000, 10), forced({"sort", "stl-heap"}), {}).algorithm->name, "stl-heap");
  EXPECT_EQ(choose(skyline(10, 2), forced({"sfs", "sort"}), {}).algorithm->name, "sfs");
  EXPECT_EQ(choose(topk(1000, 10), forced({"sfs"}), {}).algorithm->name, "heap");
}

TEST(Choose, UnknownNames) {
  EXPECT_THAT(refusal(topk(10, 1), forced({"haep"})), HasSubstr("there is no algorithm 'haep'; did you mean 'heap'?"));
  // Every name is checked, also where another one would do.
  EXPECT_THAT(refusal(skyline(10, 2), forced({"bnl", "sts"})), HasSubstr("there is no algorithm 'sts'"));
  EXPECT_THAT(refusal(skyline(10, 2), forced({"quicksilver"})), HasSubstr("bnl, sfs"));
}

TEST(Choose, ForcedButUnsupported) {
  const std::string reason = refusal(skyline(10, 2, true), forced({"sfs"}));
  EXPECT_THAT(reason, HasSubstr("no skyline algorithm fits"));
  EXPECT_THAT(reason, HasSubstr("sfs: it needs an order that is Pareto over all keys"));
  EXPECT_THAT(reason, testing::Not(HasSubstr("bnl")));
}

TEST(Choose, Devices) {
  const Constraints cpu{.device = Device::cpu, .algorithms = {}, .parameters = {}};
  EXPECT_EQ(choose(skyline(1000, 3), cpu, {.threads = 1, .cuda = true}).algorithm->device, Device::cpu);
  const Constraints cuda{.device = Device::cuda, .algorithms = {}, .parameters = {}};
  EXPECT_THAT(refusal(skyline(1000, 3), cuda), HasSubstr("no skyline algorithm fits"));
  EXPECT_THAT(refusal(topk(1000, 3), cuda), HasSubstr("runs on cpu, not on cuda"));
}

TEST(Choose, Parameters) {
  const Constraints block{.device = {}, .algorithms = {"sfs"}, .parameters = {{"block", 64}}};
  EXPECT_EQ(choose(skyline(1000, 3), block, {}).parameters["block"], 64);
  EXPECT_EQ(choose(skyline(1000, 3), forced({"sfs"}), {}).parameters["block"], 1024);
  // A parameter alone leaves the algorithms that have it.
  const Constraints alone{.device = {}, .algorithms = {}, .parameters = {{"block", 64}}};
  EXPECT_EQ(choose(skyline(10, 3), alone, {}).parameters["block"], 64);
  // It belongs to the query's skyline: the ranking does not mind.
  EXPECT_EQ(choose(topk(1000, 3), alone, {}).algorithm->name, "heap");
}

TEST(Choose, WrongParameters) {
  const Constraints misspelt{.device = {}, .algorithms = {"sfs"}, .parameters = {{"blok", 64}}};
  EXPECT_EQ(refusal(skyline(10, 2), misspelt), "sfs has no parameter 'blok'; did you mean 'block'?");
  const Constraints range{.device = {}, .algorithms = {"sfs"}, .parameters = {{"block", 0}}};
  EXPECT_THAT(refusal(skyline(10, 2), range), HasSubstr("parameter 'block' is 0, but must be from 1 to"));
  const Constraints other{.device = {}, .algorithms = {"bnl"}, .parameters = {{"block", 64}}};
  EXPECT_EQ(refusal(skyline(10, 2), other), "bnl has no parameter 'block'");
}

}  // namespace
}  // namespace skyrank::planner
