#include <benchmark/benchmark.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "kernels/cpu/topk/scan.hpp"
#include "kernels/cpu/vector_targets.hpp"
#include "tools/bench/floor.hpp"

// Measures the operations that algorithms consist of, on one core or, for passes over memory, on the machine. The code
// is the algorithms' own, except for the intersections, whose loop the skyline algorithm keeps to itself.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/bench/micro.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/skyline/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace skyline = kernels::skyline::HWY_NAMESPACE;

using Key = std::uint32_t;
using Rows = kernels::skyline::PaddedRows<Key>;

/// Looks at all n masks (63 bytes past them are readable); returns how many have no bit of `forbidden`.
std::size_t test_masks(const std::uint64_t* masks, std::size_t n, std::uint64_t forbidden) {
  std::size_t clear = 0;
  skyline::find_mask(masks, 0, n, forbidden, [&](std::size_t) {
    ++clear;
    return false;
  });
  return clear;
}

/// How many of n padded rows are at least as good as `query` everywhere.
std::size_t test_rows(const Rows& rows, std::size_t n, const Key* query) {
  std::size_t dominating = 0;
  for (std::size_t i = 0; i < n; ++i) dominating += skyline::dominates_distinct_padded(rows[i], query, rows.stride());
  return dominating;
}

/// Compares n rows in columns with strong rows; returns the number of comparisons made.
std::uint64_t test_columns(const kernels::SkylineProblem& problem, std::span<const Key> strong,
                           kernels::skyline::RowIndices& spared) {
  spared.clear();
  return skyline::append_spared(problem, strong, 0, problem.n, spared);
}

/// Intersects for each of n choices the d sets of 512 bits that it picks; returns how many intersections are not empty.
std::size_t intersect(const std::uint64_t* sets, const std::uint32_t* choices, std::size_t n, std::size_t d) {
  constexpr std::size_t kWords = 8;
  const hn::CappedTag<std::uint64_t, kWords> tag;
  std::size_t met = 0;
  for (std::size_t i = 0; i < n; ++i) {
    bool any = false;
    for (std::size_t w = 0; w < kWords; w += hn::Lanes(tag)) {
      auto found = hn::LoadU(tag, sets + choices[i * d] * kWords + w);
      for (std::size_t j = 1; j < d; ++j) {
        found = hn::And(found, hn::LoadU(tag, sets + choices[i * d + j] * kWords + w));
      }
      any |= !hn::AllTrue(tag, hn::Eq(found, hn::Zero(tag)));
    }
    met += any;
  }
  return met;
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::bench {
namespace {

HWY_EXPORT(test_masks);
HWY_EXPORT(test_rows);
HWY_EXPORT(test_columns);
HWY_EXPORT(intersect);

using benchmark::Counter;
using benchmark::State;
using Key = std::uint32_t;

constexpr std::int64_t kInCache = 1 << 10;
constexpr std::int64_t kInMemory = 1 << 22;

template <class Word>
std::vector<Word> random_words(std::size_t n) {
  std::mt19937_64 engine(1);
  std::vector<Word> words(n);
  std::ranges::generate(words, [&] { return static_cast<Word>(engine()); });
  return words;
}

void report(State& state, const char* what, double per_iteration) {
  state.counters[what] = Counter(per_iteration, Counter::kIsIterationInvariantRate, Counter::kIs1000);
}

/// Columns of independent keys.
struct Columns {
  Columns(std::size_t rows, std::size_t d) : keys(random_words<Key>(rows * d)) {
    for (std::size_t j = 0; j < d; ++j) columns.push_back({keys.data() + j * rows, kernels::KeyWidth::bytes4});
    problem.n = rows;
    problem.keys = columns;
  }

  std::vector<Key> keys;
  std::vector<kernels::KeyColumn> columns;
  kernels::SkylineProblem problem;
};

/// Masks of 64 bits, of which hardly one passes.
void mask_tests(State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<std::uint64_t> masks = random_words<std::uint64_t>(n + 8);
  constexpr std::uint64_t kForbidden = 0xFFFFFF;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(HWY_DYNAMIC_DISPATCH(test_masks)(masks.data(), n, kForbidden));
  }
  report(state, "tests", static_cast<double>(n));
}

/// Rows with their keys side by side, against one row in the middle.
void dominance_tests_of_rows(State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto d = static_cast<std::size_t>(state.range(1));
  const Columns data(n, d);
  kernels::skyline::PaddedRows<Key> rows(n + 1, d);
  rows.fill(data.columns, 0, n);
  std::fill_n(rows[n], d, Key{1} << 31);
  rows.pad(n);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(HWY_DYNAMIC_DISPATCH(test_rows)(rows, n, rows[n]));
  }
  report(state, "tests", static_cast<double>(n));
}

/// Columns, against 8 rows that each dominate 1/16 of the others.
void dominance_tests_of_columns(State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto d = static_cast<std::size_t>(state.range(1));
  const Columns data(n, d);
  const double share = std::pow(1.0 / 16, 1.0 / static_cast<double>(d));
  const std::vector<Key> strong(8 * d, static_cast<Key>((1 - share) * 0x1p32));
  kernels::skyline::RowIndices spared;
  std::uint64_t tests = 0;
  for ([[maybe_unused]] auto _ : state) {
    tests = HWY_DYNAMIC_DISPATCH(test_columns)(data.problem, strong, spared);
    benchmark::DoNotOptimize(spared.data());
  }
  report(state, "tests", static_cast<double>(tests));
}

/// One row against a block of 512 by d sets of bits, from a table of 32 levels a dimension.
void block_intersections(State& state) {
  constexpr std::size_t kBlock = 512;
  constexpr std::size_t kLevels = 32;
  constexpr std::size_t kRows = 4096;
  const auto d = static_cast<std::size_t>(state.range(0));
  const std::vector<std::uint64_t> sets = random_words<std::uint64_t>(d * kLevels * kBlock / 64);
  std::vector<std::uint32_t> choices = random_words<std::uint32_t>(kRows * d);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    choices[i] = static_cast<std::uint32_t>(i % d * kLevels + choices[i] % kLevels);
  }
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(HWY_DYNAMIC_DISPATCH(intersect)(sets.data(), choices.data(), kRows, d));
  }
  report(state, "intersections", kRows);
  report(state, "pairs", kRows * kBlock);
}

/// Keys larger than any cache, on all cores.
const std::vector<Key>& large_keys() {
  static const std::vector<Key> kKeys = random_words<Key>(std::size_t{1} << 26);
  return kKeys;
}

kernels::KeyColumn large_column() { return {large_keys().data(), kernels::KeyWidth::bytes4}; }

/// The ceiling: reading, and as little work as it takes to have to read.
void read_of_memory(State& state) {
  const kernels::KeyColumn column = large_column();
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(parallel_maximum({&column, 1}, large_keys().size()));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * large_keys().size() * sizeof(Key)));
}

/// A pass of a top-k algorithm that lets one key of a million through.
void topk_pass_over_memory(State& state) {
  constexpr Key kLimit = 1 << 12;
  const kernels::KeyColumn column = large_column();
  const std::size_t n = large_keys().size();
  for ([[maybe_unused]] auto _ : state) {
    std::size_t found = tbb::parallel_reduce(
        tbb::blocked_range<std::size_t>(0, n, std::size_t{1} << 18), std::size_t{0},
        [&](const auto& range, std::size_t so_far) {
          std::vector<std::uint32_t> offsets(kernels::topk::kScanRows);
          for (std::size_t i = range.begin(); i < range.end(); i += offsets.size()) {
            const std::size_t end = std::min(range.end(), i + offsets.size());
            so_far += kernels::topk::find_at_most(column, i, end, kLimit, offsets.data());
          }
          return so_far;
        },
        std::plus{});
    benchmark::DoNotOptimize(found);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * n * sizeof(Key)));
}

BENCHMARK(mask_tests)->ArgName("n")->Arg(kInCache)->Arg(kInMemory);
BENCHMARK(dominance_tests_of_rows)->ArgNames({"n", "d"})->ArgsProduct({{kInCache, kInMemory}, {4, 8, 12, 16}});
BENCHMARK(dominance_tests_of_columns)->ArgNames({"n", "d"})->ArgsProduct({{kInCache, kInMemory}, {4, 8, 12, 16}});
BENCHMARK(block_intersections)->ArgName("d")->Arg(4)->Arg(8)->Arg(12)->Arg(16);
BENCHMARK(read_of_memory)->UseRealTime();
BENCHMARK(topk_pass_over_memory)->UseRealTime();

}  // namespace
}  // namespace skyrank::bench

BENCHMARK_MAIN();
#endif
