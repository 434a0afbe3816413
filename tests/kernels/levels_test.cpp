#include "kernels/cpu/levels/levels.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/build.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Pareto levels of all rows at once, against the definition.
namespace skyrank::kernels {
namespace {

using tests::Values;

enum class Shape { uniform, few_values, all_equal, chain, staircase, near_chain, worst_keys };

constexpr Shape kShapes[] = {Shape::uniform,   Shape::few_values, Shape::all_equal, Shape::chain,
                             Shape::staircase, Shape::near_chain, Shape::worst_keys};

std::vector<Values> columns_of(Shape shape, std::size_t n, std::size_t d, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  std::vector<std::uint64_t> places(n);
  for (std::size_t i = 0; i < n; ++i) places[i] = i;
  std::shuffle(places.begin(), places.end(), random);
  std::vector<Values> columns(d, Values(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < d; ++c) {
      std::uint64_t& key = columns[c][i];
      switch (shape) {
        case Shape::uniform: key = random(); break;
        case Shape::few_values: key = below(3); break;
        case Shape::all_equal: key = 7; break;
        case Shape::chain: key = places[i]; break;
        case Shape::staircase: key = c % 2 == 0 ? places[i] : n - places[i]; break;
        case Shape::near_chain: key = places[i] + below(6); break;
        case Shape::worst_keys: key = ~std::uint64_t{0} - below(3); break;  // those of NULL and NaN
      }
    }
  }
  return columns;
}

std::vector<int> expected_levels(const SkylineProblem& problem) {
  return oracle::levels(problem.n, oracle::dominance(problem));
}

using Algorithm = LevelsSolution (*)(const LevelsProblem&, const Context&);

/// The algorithms that can take d keys, which find_levels chooses from.
std::vector<Algorithm> algorithms(std::size_t d) {
  switch (d) {
    case 1: return {levels::dense_ranks};
    case 2: return {levels::sweep, levels::pairs};
    case 3: return {levels::staircases, levels::insertion, levels::pairs};
    default: return {levels::insertion, levels::pairs};
  }
}

LevelsSolution solve(const LevelsProblem& problem, int threads = 2, Algorithm algorithm = find_levels) {
  tbb::task_arena arena(threads);
  return arena.execute([&] { return algorithm(problem, Context{}); });
}

void expect_levels(const SkylineProblem& problem, const std::vector<int>& expected, std::int32_t max_levels,
                   int threads) {
  for (const Algorithm algorithm : algorithms(problem.keys.size())) {
    const LevelsSolution found =
        solve({.n = problem.n, .keys = problem.keys, .max_levels = max_levels}, threads, algorithm);
    ASSERT_EQ(found.levels.size(), problem.n);
    for (std::size_t i = 0; i < problem.n; ++i) {
      ASSERT_EQ(found.levels[i], std::min(expected[i] - 1, max_levels)) << "row " << i;
    }
  }
}

TEST(Levels, AsDefined) {
  for (const Shape shape : kShapes) {
    for (std::size_t d = 1; d <= 8; ++d) {
      for (const std::size_t n : {1u, 2u, 15u, 70u}) {
        for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
          SCOPED_TRACE("shape " + std::to_string(static_cast<int>(shape)) + ", n " + std::to_string(n) + ", d " +
                       std::to_string(d) + ", bits " + std::to_string(bits(width)));
          const tests::SkylineCase test(n, columns_of(shape, n, d, static_cast<unsigned>(n + d)), width);
          const std::vector<int> expected = expected_levels(test.problem());
          for (const std::int32_t max_levels : {1, 2, 5, std::numeric_limits<std::int32_t>::max()}) {
            expect_levels(test.problem(), expected, max_levels, 2);
          }
        }
      }
    }
  }
}

// Levels of many rows, blocks of rows and buckets that are split.
TEST(Levels, ManyRowsOnAnyNumberOfThreads) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 8);
  for (const Shape shape : kShapes) {
    if (shape == Shape::chain || shape == Shape::near_chain) continue;  // the oracle is cubic there
    for (const std::size_t d : {2u, 3u, 5u}) {
      const std::size_t n = 1500;
      SCOPED_TRACE("shape " + std::to_string(static_cast<int>(shape)) + ", d " + std::to_string(d));
      const tests::SkylineCase test(n, columns_of(shape, n, d, 3), KeyWidth::bytes8);
      const std::vector<int> expected = expected_levels(test.problem());
      for (const int threads : skyrank::tests::thread_counts({1, 2, 8})) {
        expect_levels(test.problem(), expected, std::numeric_limits<std::int32_t>::max(), threads);
      }
    }
  }
}

TEST(Levels, ChainOfManyRows) {
  const std::size_t n = 50'000;
  for (const std::size_t d : {1u, 2u, 3u, 8u}) {
    const std::vector<Values> columns = columns_of(Shape::chain, n, d, 5);
    const tests::SkylineCase test(n, columns, KeyWidth::bytes4);
    const LevelsSolution found = solve({.n = n, .keys = test.problem().keys});
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(found.levels[i], static_cast<std::int32_t>(columns[0][i]));
  }
}

// One level of many rows, in which every row is compared with all others.
TEST(Levels, OneLevelOfManyRows) {
  const std::size_t n = 20'000;
  for (const std::size_t d : {3u, 4u}) {
    std::vector<Values> columns = columns_of(Shape::uniform, n, d, 9);
    for (std::size_t i = 0; i < n; ++i) {
      columns[d - 1][i] = 1 << 24;
      for (std::size_t c = 0; c + 1 < d; ++c) columns[d - 1][i] -= columns[c][i] %= 1 << 20;
    }
    const tests::SkylineCase test(n, columns, KeyWidth::bytes4);
    const LevelsSolution found = solve({.n = n, .keys = test.problem().keys});
    EXPECT_TRUE(std::ranges::all_of(found.levels, [](std::int32_t level) { return level == 0; }));
  }
}

// A row of height h is h rows, each of which dominates the next.
TEST(Levels, Heights) {
  for (const std::size_t d : {1u, 2u, 3u, 6u}) {
    SCOPED_TRACE("d " + std::to_string(d));
    const std::size_t n = 120;
    const tests::SkylineCase test(n, columns_of(Shape::uniform, n, d, 11), KeyWidth::bytes4);
    std::vector<std::int32_t> heights(n);
    for (std::size_t i = 0; i < n; ++i) heights[i] = 1 + static_cast<std::int32_t>(i % 4);
    std::vector<std::pair<std::size_t, std::int32_t>> copies;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::int32_t h = 0; h < heights[i]; ++h) copies.emplace_back(i, h);
    }
    const auto dominates = oracle::dominance(test.problem());
    const auto expected = oracle::levels(copies.size(), [&](std::size_t a, std::size_t b) {
      if (copies[a].first == copies[b].first) return copies[a].second < copies[b].second;
      return dominates(copies[a].first, copies[b].first);
    });
    for (const std::int32_t max_levels : {3, std::numeric_limits<std::int32_t>::max()}) {
      for (const Algorithm algorithm : algorithms(d)) {
        const LevelsSolution found =
            solve({.n = n, .keys = test.problem().keys, .heights = heights, .max_levels = max_levels}, 2, algorithm);
        for (std::size_t c = 0; c < copies.size(); ++c) {
          if (copies[c].second != 0) continue;
          ASSERT_EQ(found.levels[copies[c].first], std::min(expected[c] - 1, max_levels)) << "row " << copies[c].first;
        }
      }
    }
  }
}

TEST(Levels, Stop) {
  std::stop_source source;
  source.request_stop();
  Context context;
  context.stop = source.get_token();
  for (const std::size_t d : {1u, 2u, 3u}) {
    const std::size_t n = 1000;
    const tests::SkylineCase test(n, columns_of(Shape::uniform, n, d, 2), KeyWidth::bytes4);
    EXPECT_THROW(find_levels({.n = n, .keys = test.problem().keys}, context), Cancelled);
  }
}

TEST(Levels, MemoryIsCountedAndGivenBack) {
  for (const std::size_t d : {1u, 2u, 3u}) {
    const std::size_t n = 10'000;
    const tests::SkylineCase test(n, columns_of(Shape::uniform, n, d, 2), KeyWidth::bytes4);
    const auto run_within = [&](std::size_t bytes) {
      const auto account = std::make_shared<MemoryAccount>(bytes);
      {
        const AccountScope counted(account.get());
        find_levels({.n = n, .keys = test.problem().keys}, Context{});
      }
      EXPECT_EQ(account->used(), 0u);
    };
    EXPECT_THROW(run_within(8 * n), OverLimit);
    run_within(1000 * n);
  }
}

}  // namespace
}  // namespace skyrank::kernels
