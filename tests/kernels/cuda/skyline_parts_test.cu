#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cuda/device/sort_and_scan.hpp"
#include "kernels/cuda/skyline/grid.cuh"
#include "kernels/cuda/skyline/prefilter.hpp"
#include "kernels/cuda/skyline/quartiles.hpp"
#include "kernels/cuda/skyline/ranks.cuh"
#include "kernels/cuda/skyline/sample_ranks.cuh"
#include "kernels/cuda/skyline/sampled_row.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"

// The parts that skyline algorithms on a GPU share.
namespace skyrank::kernels::cuda::skyline {
namespace {

using tests::Distribution;
using tests::make_columns;
using tests::Values;

template <class T>
std::vector<T> read(const T* data, std::size_t size) {
  std::vector<T> values(size);
  SKYRANK_CUDA_CALL(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

template <class T>
Buffer<T> put(const std::vector<T>& values, DeviceContext& device) {
  auto buffer = device.allocate<T>(values.size());
  SKYRANK_CUDA_CALL(cudaMemcpy(buffer.data(), values.data(), buffer.bytes(), cudaMemcpyHostToDevice));
  return buffer;
}

/// Columns of keys on the device, and a run there.
template <class Key>
struct Problem {
  DeviceContext& device = DeviceContext::of_process();
  std::vector<std::vector<Key>> keys;
  std::vector<Buffer<Key>> columns;
  KeyTable<Key> table = {};
  Work work;
  std::vector<StageWork> stages;
  ParameterValues parameters;
  Context context;
  SkylineRun run{DeviceRun{device, parameters, context, work}, stages};

  Problem(const std::vector<Values>& values, std::size_t n) {
    table.n = static_cast<std::uint32_t>(n);
    table.d = static_cast<int>(values.size());
    for (const Values& column : values) {
      keys.emplace_back(column.begin(), column.end());
      columns.push_back(put(keys.back(), device));
      table.columns[columns.size() - 1] = columns.back().data();
    }
  }
};

TEST(RankBits, CountsOnesBeforeEachWord) {
  DeviceContext& device = DeviceContext::of_process();
  std::mt19937 engine(1);
  for (const std::uint32_t size : {0u, 1u, 31u, 32u, 33u, 1000u, 16384u * 32, 16384u * 32 + 40}) {
    for (const bool zeros : {false, true}) {
      for (const std::uint32_t first : {0u, 5u, size / 2, size}) {
        if (first > size) continue;
        const std::size_t words = words_for_ranks(size);
        std::vector<std::uint32_t> bits(words);
        std::ranges::generate(bits, engine);
        const auto given = put(bits, device);
        const auto ends = put(std::vector<std::uint32_t>{first, size}, device);
        const auto kept = device.allocate<std::uint32_t>(words);
        const auto before = device.allocate<std::uint32_t>(words);
        const auto total = device.allocate<std::uint32_t>(1);
        rank_bits({.words = given.data(), .zeros = zeros, .first = ends.data(), .size = ends.data() + 1}, kept.data(),
                  before.data(), total.data(), device);
        const auto kept_words = read(kept.data(), words);
        const auto ranks = read(before.data(), words);
        std::uint32_t ones = 0;
        for (std::uint32_t i = 0; i <= size; ++i) {
          if (i % 32 == 0) {
            ASSERT_EQ(ranks[i / 32], ones) << "before bit " << i << " of " << size;
          }
          const bool expected = i < size && i >= first && ((bits[i / 32] >> (i % 32) & 1u) != 0) != zeros;
          ASSERT_EQ((kept_words[i / 32] >> (i % 32) & 1u) != 0, expected) << "bit " << i << " of " << size;
          ones += expected ? 1 : 0;
        }
        EXPECT_EQ(read(total.data(), 1).front(), ones);
      }
    }
  }
}

TEST(SortPairs, IsStableByTheLowerBits) {
  DeviceContext& device = DeviceContext::of_process();
  const std::vector<std::uint32_t> keys{7, 1, 9, 3, 1, 15};
  std::vector<std::uint32_t> rows(keys.size());
  std::iota(rows.begin(), rows.end(), 10u);
  auto sorted_keys = put(keys, device);
  auto sorted_rows = put(rows, device);
  sort_pairs(sorted_keys, sorted_rows, device, 3);
  EXPECT_EQ(read(sorted_rows.data(), keys.size()), (std::vector<std::uint32_t>{11, 12, 14, 13, 10, 15}));
  EXPECT_EQ(read(sorted_keys.data(), keys.size()), (std::vector<std::uint32_t>{1, 9, 1, 3, 7, 15}));
}

template <class Key>
class SkylineParts : public testing::Test {};

using KeyTypes = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(SkylineParts, KeyTypes);

constexpr Distribution kSome[] = {Distribution::independent, Distribution::few_distinct, Distribution::all_equal,
                                  Distribution::extremes, Distribution::skewed};

TYPED_TEST(SkylineParts, QuartilesAreThoseOfSortedColumns) {
  constexpr auto kWidth = static_cast<KeyWidth>(sizeof(TypeParam));
  for (const Distribution distribution : kSome) {
    for (const std::size_t n : {1, 2, 3, 4, 255, 5000}) {
      Problem<TypeParam> problem(make_columns(distribution, n, 3, kWidth, n), n);
      std::vector<std::uint32_t> rows;  // all but every fifth
      for (std::uint32_t row = 0; row < n; ++row) {
        if (row % 5 != 1) rows.push_back(row);
      }
      const RowList list{put(rows, problem.device), static_cast<std::uint32_t>(rows.size())};
      const auto found = find_quartiles(problem.run, problem.table, list);
      const auto quartiles = read(found.data(), found.size());
      for (std::size_t c = 0; c < 3; ++c) {
        std::vector<TypeParam> sorted;
        for (const std::uint32_t row : rows) sorted.push_back(problem.keys[c][row]);
        std::ranges::sort(sorted);
        for (std::size_t i = 1; i <= 3; ++i) {
          EXPECT_EQ(quartiles[c].of[i - 1], sorted[i * sorted.size() / 4])
              << name_of(distribution) << ", n = " << n << ", column " << c << ", quartile " << i;
        }
      }
    }
  }
}

/// The ranks of a key in a sample of its column, as the prefilter counts them.
template <class Key>
class HostRanks {
 public:
  explicit HostRanks(const std::vector<Key>& column) : sample_(kSampleRanks, static_cast<Key>(~Key{0})) {
    const auto n = static_cast<std::uint32_t>(column.size());
    const std::uint32_t count = std::min(n, kSampleRanks);
    for (std::uint32_t i = 0; i < count; ++i) sample_[i] = column[sampled_row(n, i, count)];
    std::ranges::sort(sample_);
  }

  std::size_t of(Key key) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(sample_, key) - sample_.begin());
  }
  Key key_of(std::size_t rank) const { return sample_[rank]; }

 private:
  std::vector<Key> sample_;
};

TYPED_TEST(SkylineParts, PrefilterRemovesWhatIsAboveTheLeastGreatestRank) {
  constexpr auto kWidth = static_cast<KeyWidth>(sizeof(TypeParam));
  for (const Distribution distribution : kSome) {
    for (const std::size_t n : {1, 33, 3000}) {
      Problem<TypeParam> problem(make_columns(distribution, n, 3, kWidth, n), n);
      std::vector<HostRanks<TypeParam>> ranks;
      for (std::size_t c = 0; c < 3; ++c) {
        std::vector<TypeParam> column;
        for (std::size_t row = 0; row < n; ++row) column.push_back(problem.keys[c][row]);
        ranks.emplace_back(column);
      }
      std::size_t tau = kSampleRanks;
      for (std::size_t row = 0; row < n; ++row) {
        std::size_t greatest = 0;
        for (std::size_t c = 0; c < 3; ++c) greatest = std::max(greatest, ranks[c].of(problem.keys[c][row]));
        tau = std::min(tau, greatest);
      }
      std::vector<std::uint32_t> expected;
      for (std::uint32_t row = 0; row < n; ++row) {
        bool spared = tau == kSampleRanks;
        for (std::size_t c = 0; c < 3 && !spared; ++c) spared = problem.keys[c][row] <= ranks[c].key_of(tau);
        if (spared) expected.push_back(row);
      }
      const RowList list = prefilter(problem.run, problem.table);
      EXPECT_EQ(list.count, expected.size());
      EXPECT_EQ(read(list.rows.data(), list.count), expected) << name_of(distribution) << ", n = " << n;
    }
  }
}

/// Checks a grid's order, masks and cells against the columns.
template <class Mask, class Key>
void expect_grid(Problem<Key>& problem, std::size_t d) {
  RowList list = prefilter(problem.run, problem.table);
  const std::size_t count = list.count;
  const RowList same{put(read(list.rows.data(), count), problem.device), list.count};
  const auto quartiles = read(find_quartiles(problem.run, problem.table, same).data(), d);
  const auto grid = make_grid<Key, Mask>(problem.run, problem.table, std::move(list));
  const GridRows<Key, Mask> view = grid.rows.view();
  const auto rows = read(view.rows, count);
  const auto median = read(view.median, count);
  const auto quartile = read(view.quartile, count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < d; ++c) {
      const Key key = problem.keys[c][rows[i]];
      const bool upper = key > quartiles[c].of[1];
      ASSERT_EQ((median[i] >> c & 1u) != 0, upper);
      ASSERT_EQ((quartile[i] >> c & 1u) != 0, key > quartiles[c].of[upper ? 2 : 0]);
    }
    ASSERT_LE(std::popcount(median[i == 0 ? 0 : i - 1]), std::popcount(median[i]));
  }
  const std::size_t cells = read(grid.cells().count, 1).front();
  ASSERT_LE(cells, grid.most_cells);
  const auto masks = read(grid.cells().masks, cells);
  const auto starts = read(grid.starts.data(), cells + 1);
  const auto level_first = read(grid.cells().level_first, d + 2);
  EXPECT_EQ(starts.back(), count);
  EXPECT_EQ(level_first.back(), cells);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    ASSERT_LT(starts[cell], starts[cell + 1]);
    for (std::size_t i = starts[cell]; i < starts[cell + 1]; ++i) ASSERT_EQ(median[i], masks[cell]);
    const auto level = static_cast<std::size_t>(std::popcount(masks[cell]));
    EXPECT_TRUE(level_first[level] <= cell && cell < level_first[level + 1]);
  }
}

TYPED_TEST(SkylineParts, GridIsInTheOrderOfItsCells) {
  constexpr auto kWidth = static_cast<KeyWidth>(sizeof(TypeParam));
  tests::Turns turns(2);
  for (const Distribution distribution : kSome) {
    for (const std::size_t d : {1, 4, 27, 28, 32}) {
      if (turns.skip()) continue;
      Problem<TypeParam> problem(make_columns(distribution, 900, d, kWidth, d), 900);
      expect_grid<std::uint32_t>(problem, d);
    }
    for (const std::size_t d : {33, 57, 58, 64}) {
      if (turns.skip()) continue;
      Problem<TypeParam> problem(make_columns(distribution, 400, d, kWidth, d), 400);
      expect_grid<std::uint64_t>(problem, d);
    }
  }
}

}  // namespace
}  // namespace skyrank::kernels::cuda::skyline
