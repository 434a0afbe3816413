#include "kernels/cuda/dominance_counts/dominance_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "kernels/cpu/dominance_counts/dominance_counts.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Numbers of dominators and of dominated rows on a GPU, against the definition and against those of the CPU.
namespace skyrank::kernels::tests {
namespace {

using CountsOnGpu = skyrank::gpu_testing::GpuTest;
using cuda::Counted;
using cuda::CountProblem;

/// Columns of values below `values`, or of any; of few values so that there are equal rows.
std::vector<Values> random_keys(std::size_t n, std::size_t d, std::uint64_t values, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Values> columns(d, Values(n));
  for (Values& column : columns) {
    for (std::uint64_t& key : column) key = values == 0 ? random() : random() % values;
  }
  return columns;
}

/// Returns the numbers of some rows, by the definition.
std::vector<std::int64_t> counts_by_pairs(const SkylineProblem& problem, const std::vector<std::int64_t>& asking,
                                          Counted counted) {
  const auto dominates = oracle::dominance(problem);
  std::vector<std::int64_t> counts;
  for (const std::int64_t row : asking) {
    const auto own = static_cast<std::size_t>(row);
    std::int64_t count = 0;
    for (std::size_t other = 0; other < problem.n; ++other) {
      count += (counted == Counted::dominated ? dominates(own, other) : dominates(other, own)) ? 1 : 0;
    }
    counts.push_back(count);
  }
  return counts;
}

std::vector<std::int64_t> all_rows(std::size_t n) {
  std::vector<std::int64_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

/// Counts all rows, and some in another order than that of the table.
void expect_counts(std::size_t n, std::size_t d, std::uint64_t values, KeyWidth width, unsigned seed) {
  SCOPED_TRACE("n " + std::to_string(n) + ", d " + std::to_string(d) + ", values " + std::to_string(values) +
               ", bits " + std::to_string(bits(width)));
  const SkylineCase test(n, random_keys(n, d, values, seed), width);
  const CountProblem problem{.n = n, .keys = test.problem().keys};
  std::vector<std::int64_t> some;
  for (std::size_t i = 0; i < n; i += 3) some.push_back(static_cast<std::int64_t>(n - 1 - i));
  for (const Counted counted : {Counted::dominators, Counted::dominated}) {
    EXPECT_EQ(cuda::count_dominance(problem, counted, {}), counts_by_pairs(test.problem(), all_rows(n), counted));
    EXPECT_EQ(cuda::count_dominance(problem, some, counted, {}), counts_by_pairs(test.problem(), some, counted));
  }
}

TEST_F(CountsOnGpu, AreAsDefined) {
  unsigned seed = 1;
  for (const std::size_t d : {1, 2, 3, 4, 7, 64}) {
    for (const std::size_t n : {1, 2, 33, 700}) {
      if (n * d > 3000) continue;  // more than a tile, of few keys
      for (const std::uint64_t values : {0, 1, 3, 40}) {
        for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) expect_counts(n, d, values, width, ++seed);
      }
    }
  }
}

TEST_F(CountsOnGpu, OfGreatestKeysCountNoRowsThatAreNotThere) {
  for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
    std::vector<Values> columns(2, Values(40, ~std::uint64_t{0}));
    for (std::size_t i = 0; i < 10; ++i) columns[0][i] = columns[1][39 - i] = 0;
    const SkylineCase test(40, columns, width);
    const CountProblem problem{.n = 40, .keys = test.problem().keys};
    for (const Counted counted : {Counted::dominators, Counted::dominated}) {
      EXPECT_EQ(cuda::count_dominance(problem, counted, {}), counts_by_pairs(test.problem(), all_rows(40), counted));
    }
  }
}

TEST_F(CountsOnGpu, OfNoRowsAreNone) {
  const SkylineCase test(5, random_keys(5, 2, 0, 1), KeyWidth::bytes4);
  EXPECT_TRUE(
      cuda::count_dominance({.n = 5, .keys = test.problem().keys}, std::vector<std::int64_t>{}, Counted::dominated, {})
          .empty());
  EXPECT_TRUE(cuda::count_dominance({.n = 0, .keys = test.problem().keys}, Counted::dominated, {}).empty());
}

/// Rows of several batches of several blocks, and tiles of several launches, beside the CPU's numbers.
TEST_F(CountsOnGpu, OfManyRowsAreThoseOfTheCpu) {
  for (const std::size_t d : {3, 4}) {
    for (const std::uint64_t values : {0, 9, 3000}) {
      const std::size_t n = 20'011;
      const SkylineCase test(n, random_keys(n, d, values, static_cast<unsigned>(d)), KeyWidth::bytes4);
      std::vector<std::int64_t> asking;
      std::vector<std::uint8_t> wanted(n);
      for (std::size_t i = 0; i < n; i += 17) {
        asking.push_back(static_cast<std::int64_t>(i));
        wanted[i] = 1;
      }
      const DominanceCountsProblem on_cpu{.n = n, .keys = test.problem().keys, .wanted = wanted};
      const CountProblem problem{.n = n, .keys = test.problem().keys};
      const DominanceCounts dominators = count_dominators(on_cpu, {});
      const DominanceCounts dominated = count_dominated(on_cpu, {});
      const auto above = cuda::count_dominance(problem, asking, Counted::dominators, {});
      const auto below = cuda::count_dominance(problem, asking, Counted::dominated, {});
      for (std::size_t i = 0; i < asking.size(); ++i) {
        const auto row = static_cast<std::size_t>(asking[i]);
        ASSERT_EQ(above[i], dominators.counts[row]) << "row " << row << ", values " << values;
        ASSERT_EQ(below[i], dominated.counts[row]) << "row " << row << ", values " << values;
      }
    }
  }
}

TEST_F(CountsOnGpu, SkybandsAreAsDefined) {
  for (const std::size_t n : {1, 300, 20'000}) {
    for (const std::size_t d : {1, 2, 4}) {
      for (const std::uint64_t values : {0, 7, 5000}) {
        for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
          const SkylineCase test(n, random_keys(n, d, values, static_cast<unsigned>(d)), width);
          const DominanceCounts counts = count_dominators({.n = n, .keys = test.problem().keys}, {});
          for (const std::int64_t enough : {1, 5, 100}) {
            const bool counts_all = n > 1000 && enough > 64;  // without a sample
            if (counts_all && (values != 7 || d != 2 || width != KeyWidth::bytes4)) continue;
            std::vector<std::int64_t> expected;
            for (std::size_t i = 0; i < n; ++i) {
              if (counts.counts[i] < enough) expected.push_back(static_cast<std::int64_t>(i));
            }
            EXPECT_EQ(cuda::find_skyband({.n = n, .keys = test.problem().keys}, enough, {}), expected)
                << "n " << n << ", d " << d << ", values " << values << ", bits " << bits(width) << ", enough "
                << enough;
          }
        }
      }
    }
  }
}

TEST_F(CountsOnGpu, StopWhereAsked) {
  std::stop_source source;
  source.request_stop();
  Context context;
  context.stop = source.get_token();
  const SkylineCase test(5, random_keys(5, 2, 0, 1), KeyWidth::bytes4);
  const CountProblem problem{.n = 5, .keys = test.problem().keys};
  EXPECT_THROW(cuda::count_dominance(problem, Counted::dominated, context), Cancelled);
  EXPECT_THROW(cuda::find_skyband(problem, 2, context), Cancelled);
}

}  // namespace
}  // namespace skyrank::kernels::tests
