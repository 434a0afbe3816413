#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/kernels/problems.hpp"
#include "tests/kernels/skyline_runs.hpp"

// The work of the papers' skyline algorithms on the CPU.
namespace skyrank::kernels::tests {
namespace {

TEST(SkylineWork, StaticGridGainsOnRecursionWithDimensions) {
  const auto ratio = [](std::size_t d) {
    const SkylineCase data = make_case(Distribution::independent, 8000, d);
    return static_cast<double>(work_of("skyalign", data).dominance_tests) /
           static_cast<double>(work_of("bskytree", data).dominance_tests);
  };
  const double at8 = ratio(8);
  const double at16 = ratio(16);
  EXPECT_LT(at16, at8);
  EXPECT_LT(at16, 0.5);
}

TEST(SkylineWork, ScanOfSalsaEndsAtTheStopPoint) {
  const std::size_t n = 20000;
  std::vector<Values> columns = make_columns(Distribution::independent, n, 4, KeyWidth::bytes4, 31);
  for (Values& column : columns) {
    for (std::uint64_t& key : column) key |= 1;
    column[777] = 0;
  }
  // The row of zeros is first and dominates the rest of its block; no other row is looked at.
  const SkylineCase data(n, columns, KeyWidth::bytes4);
  const Work work = work_of("salsa", data);
  EXPECT_LE(work.candidates, 1024u);
  EXPECT_LE(work.dominance_tests, 16 * 1024u);  // the window is looked at in vectors of 16
  EXPECT_EQ(run(algorithm("salsa"), data.problem()).rows, std::vector<RowId>{777});
  EXPECT_GT(work_of("sfs", data).dominance_tests, n / 2);
}

/// Counts what PSkyline's listings compare: SSkyline of each part, then PMerge by one thread.
class ListedPSkyline {
 public:
  explicit ListedPSkyline(const std::vector<Values>& columns) : columns_(columns) {}

  std::uint64_t tests_of(std::size_t n, std::size_t parts) {
    std::vector<std::size_t> merged;
    for (std::size_t part = 0; part < parts; ++part) {
      std::vector<std::size_t> rows(n * (part + 1) / parts - n * part / parts);
      std::iota(rows.begin(), rows.end(), n * part / parts);
      merged = part == 0 ? skyline_of(std::move(rows)) : merge(merged, skyline_of(std::move(rows)));
    }
    return tests_;
  }

 private:
  bool dominates(std::size_t a, std::size_t b) const {
    const auto no_worse = [&](const Values& column) { return column[a] <= column[b]; };
    const auto better = [&](const Values& column) { return column[a] < column[b]; };
    return std::ranges::all_of(columns_, no_worse) && std::ranges::any_of(columns_, better);
  }

  std::vector<std::size_t> skyline_of(std::vector<std::size_t> rows) {
    for (std::size_t head = 0; head + 1 < rows.size(); ++head) {
      for (std::size_t i = head + 1; i < rows.size();) {
        ++tests_;
        if (dominates(rows[i], rows[head])) {
          rows[head] = rows[i];
          rows[i] = rows.back();
          rows.pop_back();
          i = head + 1;
        } else if (dominates(rows[head], rows[i])) {
          rows[i] = rows.back();
          rows.pop_back();
        } else {
          ++i;
        }
      }
    }
    return rows;
  }

  std::vector<std::size_t> merge(const std::vector<std::size_t>& left, std::vector<std::size_t> right) {
    std::vector<std::size_t> kept;
    for (const std::size_t row : left) {
      bool dominated = false;
      for (std::size_t i = 0; i < right.size() && !dominated;) {
        ++tests_;
        dominated = dominates(right[i], row);
        if (!dominated && dominates(row, right[i])) {
          right.erase(right.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          ++i;
        }
      }
      if (!dominated) kept.push_back(row);
    }
    kept.insert(kept.end(), right.begin(), right.end());
    return kept;
  }

  const std::vector<Values>& columns_;
  std::uint64_t tests_ = 0;
};

Work work_with(std::string_view name, const SkylineCase& data, std::string_view parameter, std::int64_t value) {
  tbb::task_arena arena(1);
  const SkylineAlgorithm& it = algorithm(name);
  const ParameterValues values(it.parameters, {{std::string(parameter), value}});
  return arena.execute([&] { return it.run(data.problem(), values, {.count_work = true, .stop = {}}).work; });
}

TEST(SkylineWork, PSkylineComparesWhatItsListingsCompare) {
  for (const Distribution distribution :
       {Distribution::independent, Distribution::anticorrelated, Distribution::few_distinct}) {
    const std::size_t n = 1500;
    const auto columns = make_columns(distribution, n, 4, KeyWidth::bytes4, 3);
    const SkylineCase data(n, columns, KeyWidth::bytes4);
    for (const std::size_t parts : {1, 2, 7}) {
      SCOPED_TRACE(name_of(distribution) + ", parts " + std::to_string(parts));
      EXPECT_EQ(work_with("pskyline", data, "parts", static_cast<std::int64_t>(parts)).dominance_tests,
                ListedPSkyline(columns).tests_of(n, parts));
    }
  }
}

TEST(SkylineWork, PSkylineGivesTheSameForAllNumbersOfThreads) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 16);
  const SkylineCase data = make_case(Distribution::anticorrelated, 6000, 5);
  const Vector<RowId> expected = run(algorithm("sfs"), data.problem()).rows;
  for (const int threads : {1, 2, 5, 16}) {
    tbb::task_arena arena(threads);
    EXPECT_EQ(arena.execute([&] { return run(algorithm("pskyline"), data.problem()).rows; }), expected) << threads;
  }
}

// Kung, Luccio, Preparata: n log n for two and three dimensions, whatever the skyline.
TEST(SkylineWork, DivideAndConquerTestsFewPairsOfFewDimensions) {
  const std::size_t n = 20000;
  std::vector<Values> columns = make_columns(Distribution::independent, n, 3, KeyWidth::bytes4, 7);
  for (const std::size_t d : {2, 3}) {
    // One sum for all rows, so that none dominates another.
    for (std::size_t i = 0; i < n; ++i) {
      columns[0][i] %= 1 << 28;
      columns[1][i] %= 1 << 28;
      columns[d - 1][i] = (1 << 30) - columns[0][i] - (d == 3 ? columns[1][i] : 0);
    }
    const SkylineCase data(n, {columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(d)}, KeyWidth::bytes4);
    const double log_n = std::log2(static_cast<double>(n));
    EXPECT_EQ(run(algorithm("divide-and-conquer"), data.problem()).rows.size(), n) << d;
    EXPECT_LT(static_cast<double>(work_of("divide-and-conquer", data).dominance_tests), n * log_n) << d;
  }
}

TEST(SkylineWork, DivideAndConquerMeetsNoPairTwice) {
  for (const std::size_t d : {4, 8}) {
    const std::size_t n = 2000;
    const SkylineCase data = make_case(Distribution::anticorrelated, n, d);
    for (const std::int64_t leaf : {1, 16, 65536}) {
      EXPECT_LE(work_with("divide-and-conquer", data, "leaf", leaf).dominance_tests, n * (n - 1) / 2)
          << d << ' ' << leaf;
    }
    EXPECT_LT(work_of("divide-and-conquer", data).dominance_tests, work_of("pskyline", data).dominance_tests) << d;
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests
