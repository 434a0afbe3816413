#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/noted_work.hpp"
#include "kernels/papers/common/subrange.hpp"
#include "kernels/registry.hpp"
#include "tests/kernels/problems.hpp"

// The work of Dr. Top-k and of Block-Max WAND on the CPU, which figures 20, 21 and 24 of Dr. Top-k show.
namespace skyrank::kernels::tests {
namespace {

using Settings = std::map<std::string, std::int64_t, std::less<>>;

struct Counted {
  std::vector<RowId> rows;
  std::map<std::string, std::uint64_t> rows_of_stage;
  std::uint64_t candidates = 0;
};

const TopKAlgorithm& algorithm(std::string_view name) {
  return **std::ranges::find_if(topk_algorithms(), [&](const auto* it) { return it->name == name; });
}

Counted run(std::string_view name, const std::vector<std::uint32_t>& keys, std::size_t k,
            const Settings& settings = {}) {
  const KeyColumn column{keys.data(), KeyWidth::bytes4};
  const TopKProblem problem{.n = keys.size(), .keys = {&column, 1}, .k = k};
  const TopKAlgorithm& it = algorithm(name);
  noted_stages().clear();
  const TopKSolution solution = it.run(problem, {it.parameters, settings}, {.count_work = true, .stop = {}});
  Counted counted{{solution.rows.begin(), solution.rows.end()}, {}, solution.work.candidates};
  for (const StageWork& stage : noted_stages()) {
    EXPECT_GE(stage.ms, 0);
    counted.rows_of_stage[stage.name] += stage.rows;
  }
  return counted;
}

std::vector<std::uint32_t> keys_of(Distribution distribution, std::size_t n) {
  const auto columns = make_columns(distribution, n, 1, KeyWidth::bytes4, 11);
  return {columns.front().begin(), columns.front().end()};
}

/// Rows in the order of their keys, equal ones by their numbers.
std::vector<RowId> sorted_rows(const std::vector<std::uint32_t>& keys) {
  std::vector<RowId> rows(keys.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<RowId>(i);
  std::ranges::stable_sort(rows, {}, [&](RowId row) { return keys[static_cast<std::size_t>(row)]; });
  return rows;
}

/// The sizes of both vectors by their definition: places of rows in order stand for elements.
struct Vectors {
  std::uint64_t delegates = 0;
  std::uint64_t concatenated = 0;
};

Vectors vectors_of(const std::vector<std::uint32_t>& keys, std::size_t k, std::size_t beta, int alpha, bool filter) {
  const std::size_t n = keys.size();
  std::vector<std::size_t> place(n);
  const std::vector<RowId> rows = sorted_rows(keys);
  for (std::size_t i = 0; i < n; ++i) place[static_cast<std::size_t>(rows[i])] = i;
  const std::size_t length = std::size_t{1} << alpha;
  std::vector<std::vector<std::size_t>> subranges;
  std::vector<std::size_t> delegates;
  for (std::size_t begin = 0; begin < n; begin += length) {
    std::vector<std::size_t> places(place.begin() + static_cast<std::ptrdiff_t>(begin),
                                    place.begin() + static_cast<std::ptrdiff_t>(std::min(n, begin + length)));
    std::ranges::sort(places);
    for (std::size_t i = 0; i < std::min(beta, places.size()); ++i) delegates.push_back(places[i]);
    subranges.push_back(std::move(places));
  }
  Vectors vectors{delegates.size(), 0};
  std::ranges::sort(delegates);
  const std::size_t bound = delegates[k - 1];
  for (const auto& places : subranges) {
    const auto within = static_cast<std::size_t>(std::ranges::upper_bound(places, bound) - places.begin());
    const bool qualifies = places.size() > beta && within >= beta;
    vectors.concatenated += qualifies && !filter ? places.size() : within;
  }
  return vectors;
}

TEST(DrTopKWork, IsThatOfTheDefinition) {
  for (const Distribution distribution :
       {Distribution::independent, Distribution::few_distinct, Distribution::descending, Distribution::all_equal}) {
    const auto keys = keys_of(distribution, 5003);
    for (const std::size_t k : {1, 20, 300}) {
      for (const std::int64_t beta : {1, 2, 3}) {
        for (const bool filter : {true, false}) {
          SCOPED_TRACE(name_of(distribution) + ", k " + std::to_string(k) + ", beta " + std::to_string(beta));
          const Counted counted = run("dr-topk", keys, k, {{"alpha", 3}, {"beta", beta}, {"filter", filter ? 1 : 0}});
          const Vectors expected = vectors_of(keys, k, static_cast<std::size_t>(beta), 3, filter);
          EXPECT_EQ(counted.rows_of_stage.at("delegates"), expected.delegates);
          EXPECT_EQ(counted.rows_of_stage.at("concatenation"), expected.concatenated);
          EXPECT_EQ(counted.candidates, expected.concatenated);
        }
      }
    }
  }
}

TEST(DrTopKWork, WithoutUsefulDelegatesSelectsFromAllRows) {
  const auto keys = keys_of(Distribution::independent, 1000);
  const Counted counted = run("dr-topk", keys, 900);
  EXPECT_EQ(counted.rows_of_stage.at("delegates"), 0u);
  EXPECT_EQ(counted.rows_of_stage.at("concatenation"), 1000u);
}

TEST(DrTopKWork, IsTheSameForAllNumbersOfThreads) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 8);
  const auto keys = keys_of(Distribution::independent, 200'000);
  const std::vector<RowId> sorted = sorted_rows(keys);
  for (const int threads : {1, 3, 8}) {
    tbb::task_arena arena(threads);
    const Counted counted = arena.execute([&] { return run("dr-topk", keys, 5000); });
    EXPECT_TRUE(std::ranges::equal(counted.rows, std::span(sorted).first(5000))) << threads;
    EXPECT_EQ(counted.candidates, arena.execute([&] { return run("dr-topk", keys, 5000); }).candidates) << threads;
  }
}

TEST(BlockMaxWandWork, IsThatOfASearchEngine) {
  const auto evaluated = [](Distribution distribution, std::size_t n, std::size_t k, std::int64_t alpha) {
    return run("block-max-wand", keys_of(distribution, n), k, {{"alpha", alpha}}).rows_of_stage.at("evaluation");
  };
  EXPECT_EQ(evaluated(Distribution::ascending, 4000, 10, 4), 16u) << "the best rows are in the first block";
  EXPECT_EQ(evaluated(Distribution::descending, 4000, 10, 4), 4000u) << "every row is better than all before";
  EXPECT_EQ(evaluated(Distribution::all_equal, 4000, 10, 4), 10u) << "no row is better than the first";
  EXPECT_EQ(evaluated(Distribution::independent, 4000, 4000, 4), 4000u);
}

// Row after row, as the paper's figure 11 has it.
TEST(BlockMaxWandWork, EvaluatesWhatTheListingDoes) {
  for (const Distribution distribution : {Distribution::independent, Distribution::few_distinct}) {
    const auto keys = keys_of(distribution, 3001);
    for (const std::size_t k : {1, 7, 100}) {
      std::uint64_t evaluated = 0;
      std::vector<std::uint32_t> best;  // ascending
      for (std::size_t row = 0; row < keys.size(); ++row) {
        const std::size_t begin = row / 16 * 16;
        const auto least =
            *std::min_element(keys.begin() + static_cast<std::ptrdiff_t>(begin),
                              keys.begin() + static_cast<std::ptrdiff_t>(std::min(keys.size(), begin + 16)));
        if (best.size() == k && least >= best.back()) continue;
        ++evaluated;
        if (best.size() == k && keys[row] >= best.back()) continue;
        best.insert(std::ranges::upper_bound(best, keys[row]), keys[row]);
        if (best.size() > k) best.pop_back();
      }
      EXPECT_EQ(run("block-max-wand", keys, k, {{"alpha", 4}}).candidates, evaluated) << name_of(distribution) << k;
    }
  }
}

TEST(BlockMaxWandWork, BlocksAreDrTopKsSubranges) {
  const auto keys = keys_of(Distribution::independent, 100'000);
  const auto subranges = cuda::topk::delegate::subranges_for(keys.size(), 50, 2);
  EXPECT_EQ(run("block-max-wand", keys, 50).rows_of_stage.at("block maxima"), subranges.count);
}

}  // namespace
}  // namespace skyrank::kernels::tests
