#include <gtest/gtest.h>

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

}  // namespace
}  // namespace skyrank::kernels::tests
