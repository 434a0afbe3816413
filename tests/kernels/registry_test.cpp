#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include "kernels/common/order.hpp"
#include "kernels/papers/names.hpp"
#include "kernels/registry.hpp"
#include "tests/kernels/problems.hpp"

namespace skyrank::kernels::tests {
namespace {

using Kind = OrderNode::Kind;

constexpr Parameter kDeclared[] = {{"block", "rows", 1, 100, 10}, {"fanout", "children", 2, 8, 4}};

template <class Algorithm>
void expect_well_formed(const Algorithm& algorithm) {
  SCOPED_TRACE(algorithm.name);
  EXPECT_FALSE(algorithm.name.empty());
  EXPECT_FALSE(algorithm.summary.empty());
  // "Authors: Title, venue and year, ..."
  EXPECT_THAT(std::string(algorithm.source), ::testing::ContainsRegex("[A-Z].*: [A-Z].*, .*(19|20)[0-9][0-9]"));
  ASSERT_NE(algorithm.supports, nullptr);
  ASSERT_NE(algorithm.run, nullptr);
  for (const Parameter& parameter : algorithm.parameters) {
    EXPECT_LE(parameter.min, parameter.default_value) << parameter.name;
    EXPECT_LE(parameter.default_value, parameter.max) << parameter.name;
    EXPECT_FALSE(parameter.description.empty()) << parameter.name;
  }
}

TEST(Registry, EntriesAreCompleteAndNamesUnique) {
  std::set<std::string_view> names;
  for (const auto* algorithm : skyline_algorithms()) {
    expect_well_formed(*algorithm);
    EXPECT_TRUE(names.insert(algorithm->name).second) << algorithm->name;
  }
  for (const auto* algorithm : topk_algorithms()) {
    expect_well_formed(*algorithm);
    EXPECT_TRUE(names.insert(algorithm->name).second) << algorithm->name;
  }
}

TEST(Registry, SomeCpuAlgorithmSupportsEveryProblem) {
  for (const bool general : {false, true}) {
    for (const std::size_t d : {1, 64}) {
      const SkylineShape shape{.n = 1, .d = d, .width = KeyWidth::bytes8, .general_order = general};
      EXPECT_TRUE(std::ranges::any_of(skyline_algorithms(), [&](const auto* algorithm) {
        return algorithm->device == Device::cpu && algorithm->supports(shape).ok;
      }));
    }
  }
  const TopKShape wide{.n = 1, .k = 1, .widths = std::vector(20, KeyWidth::bytes8), .ties = TieRule::all};
  EXPECT_TRUE(std::ranges::any_of(topk_algorithms(), [&](const auto* algorithm) {
    return algorithm->device == Device::cpu && algorithm->supports(wide).ok;
  }));
}

std::set<std::string_view> registered_names() {
  std::set<std::string_view> names;
  for (const auto* algorithm : skyline_algorithms()) names.insert(algorithm->name);
  for (const auto* algorithm : topk_algorithms()) names.insert(algorithm->name);
  return names;
}

TEST(Registry, WithoutThePapersHasWhatPlansNeed) {
  std::set<std::string_view> names = registered_names();
  for (const std::string_view paper : papers::names()) names.erase(paper);
  std::erase_if(names, [](std::string_view name) { return name.starts_with("cuda-"); });
  EXPECT_EQ(names, (std::set<std::string_view>{"bnl", "sfs", "sweep", "blocked-bitmap", "skyalign", "sort", "heap",
                                               "nth-element", "sampled-threshold"}));
}

TEST(Registry, HasAnAlgorithmOfThePapersOrSaysWhyNot) {
  const std::set<std::string_view> registered = registered_names();
  const bool cuda = registered.contains("cuda-sampled-threshold");
  const bool papers_built = registered.contains("salsa");
  for (const std::string_view name : papers::names()) {
    const std::string reason = papers::why_left_out(name);
    EXPECT_EQ(registered.contains(name), papers_built && (cuda || !name.starts_with("cuda-"))) << name;
    EXPECT_EQ(reason.empty(), papers_built) << name;
    if (!reason.empty()) {
      EXPECT_EQ(reason, "this build leaves out the algorithm '" + std::string(name) +
                            "', which is one of the papers' algorithms; configure with -DSKYRANK_PAPERS=ON to have "
                            "them");
    }
  }
  EXPECT_EQ(papers::why_left_out("bnl"), "");
  EXPECT_EQ(papers::why_left_out("bln"), "");
}

TEST(Registry, UnsupportedHasAReason) {
  const SkylineShape general{.n = 10, .d = 2, .width = KeyWidth::bytes4, .general_order = true};
  for (const auto* algorithm : skyline_algorithms()) {
    const Support support = algorithm->supports(general);
    EXPECT_EQ(support.ok, support.reason.empty()) << algorithm->name;
  }
}

TEST(Parameters, DefaultsAndGivenValues) {
  const ParameterValues values(kDeclared, {{"fanout", 8}});
  EXPECT_EQ(values["block"], 10);
  EXPECT_EQ(values["fanout"], 8);
  EXPECT_THROW(values["nothing"], std::out_of_range);
}

TEST(Parameters, Check) {
  EXPECT_EQ(check_parameters(kDeclared, {}), "");
  EXPECT_EQ(check_parameters(kDeclared, {{"block", 1}, {"fanout", 8}}), "");
  EXPECT_EQ(check_parameters(kDeclared, {{"block", 0}}), "parameter 'block' is 0, but must be from 1 to 100");
  EXPECT_EQ(check_parameters(kDeclared, {{"block", 101}}), "parameter 'block' is 101, but must be from 1 to 100");
  EXPECT_EQ(check_parameters(kDeclared, {{"fanot", 3}}), "there is no parameter 'fanot'; did you mean 'fanout'?");
  EXPECT_EQ(check_parameters({}, {{"block", 3}}), "there is no parameter 'block'");
}

SkylineShape shape_with(std::vector<OrderNode> order) {
  const SkylineCase data(1, {{1}, {2}}, KeyWidth::bytes8, std::move(order));
  return shape_of(data.problem());
}

TEST(Shape, OfSkylineProblems) {
  const SkylineShape flat = shape_with({});
  EXPECT_EQ(flat.n, 1u);
  EXPECT_EQ(flat.d, 2u);
  EXPECT_EQ(flat.width, KeyWidth::bytes8);
  EXPECT_FALSE(flat.general_order);
  EXPECT_FALSE(shape_with({{Kind::pareto, 1, 2}, {Kind::key, 1, 0}, {Kind::key, 0, 0}}).general_order);
  // A prior of one child and a Pareto in a Pareto add nothing.
  EXPECT_FALSE(
      shape_with({{Kind::pareto, 1, 2}, {Kind::key, 1, 0}, {Kind::prior, 3, 1}, {Kind::key, 0, 0}}).general_order);
  EXPECT_TRUE(shape_with({{Kind::prior, 1, 2}, {Kind::key, 1, 0}, {Kind::key, 0, 0}}).general_order);
  // A column that no leaf names does not count.
  EXPECT_TRUE(shape_with({{Kind::key, 1, 0}}).general_order);
}

TEST(Shape, OfTopKProblems) {
  const TopKCase data(3, {{1, 2, 3}, {4, 5, 6}}, {KeyWidth::bytes2, KeyWidth::bytes8});
  const TopKShape shape = shape_of(data.problem(2, TieRule::last));
  EXPECT_EQ(shape.n, 3u);
  EXPECT_EQ(shape.k, 2u);
  EXPECT_EQ(shape.widths, (std::vector{KeyWidth::bytes2, KeyWidth::bytes8}));
  EXPECT_EQ(shape.ties, TieRule::last);
}

TEST(OrderTree, ComparesByTheTree) {
  // Pareto of (prior of columns 0 and 1) and column 2.
  const std::vector<OrderNode> nodes{
      {Kind::pareto, 1, 2}, {Kind::prior, 3, 2}, {Kind::key, 2, 0}, {Kind::key, 0, 0}, {Kind::key, 1, 0}};
  const Order order(nodes, 3);
  const auto compare = [&](std::vector<std::uint32_t> a, std::vector<std::uint32_t> b) {
    return order.compare(a.data(), b.data());
  };
  EXPECT_EQ(compare({1, 9, 5}, {2, 0, 5}), Outcome::better);
  EXPECT_EQ(compare({2, 0, 5}, {1, 9, 5}), Outcome::worse);
  EXPECT_EQ(compare({1, 9, 6}, {2, 0, 5}), Outcome::incomparable);
  EXPECT_EQ(compare({1, 9, 5}, {1, 9, 5}), Outcome::equal);
  EXPECT_EQ(compare({1, 8, 5}, {1, 9, 5}), Outcome::better);
}

TEST(OrderTree, RefusesWhatIsNoTree) {
  EXPECT_THROW(Order({}, 1), std::invalid_argument);
  EXPECT_THROW(Order(std::vector<OrderNode>{{Kind::pareto, 0, 1}}, 1), std::invalid_argument);
  EXPECT_THROW(Order(std::vector<OrderNode>{{Kind::pareto, 1, 0}}, 1), std::invalid_argument);
  EXPECT_THROW(Order(std::vector<OrderNode>{{Kind::pareto, 1, 2}, {Kind::key, 0, 0}}, 1), std::invalid_argument);
  EXPECT_THROW(Order(std::vector<OrderNode>{{Kind::key, 1, 0}}, 1), std::invalid_argument);
  std::vector<OrderNode> wide(66, {Kind::key, 0, 0});
  wide[0] = {Kind::pareto, 1, 65};
  EXPECT_THROW(Order(wide, 1), std::invalid_argument);
}

}  // namespace
}  // namespace skyrank::kernels::tests
