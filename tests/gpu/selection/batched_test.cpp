#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/cuda/segments.hpp"
#include "tests/kernels/problems.hpp"

// One selection for each of many segments: a block's, a warp's, those of one length and of many.
namespace skyrank::kernels::tests {
namespace {

using SegmentsOnGpu = skyrank::gpu_testing::GpuTest;

/// The k least elements' rows of each segment, filled up with -1.
template <class E>
std::vector<RowId> expected(const E& elements, const std::vector<std::size_t>& offsets, std::size_t k) {
  std::vector<RowId> rows;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    std::vector<typename E::Element> own;
    for (std::size_t row = offsets[i]; row < offsets[i + 1]; ++row) own.push_back(elements.at(row));
    std::ranges::sort(own);
    for (std::size_t place = 0; place < k; ++place) {
      rows.push_back(place < own.size() ? static_cast<RowId>(elements.row(own[place])) : -1);
    }
  }
  return rows;
}

template <class E>
void expect_least(const Values& values, const std::vector<std::size_t>& offsets, bool equal, std::size_t k) {
  const auto keys = narrowed<typename E::Key>(values);
  const std::vector<RowId> found = least_on_device<E>(keys, offsets, equal, k, 0);
  EXPECT_TRUE(found == expected(E{keys.data(), 0}, offsets, k)) << k << " of " << offsets.size() - 1 << " segments";
}

TEST_F(SegmentsOnGpu, OfOneLength) {
  const std::size_t segments = kEmulated ? 3 : 300;
  for (const Distribution distribution : kDistributions) {
    SCOPED_TRACE(name_of(distribution));
    for (const std::size_t rows : {100, 1000, 20'000}) {
      const Values values = make_columns(distribution, segments * rows, 1, KeyWidth::bytes8, rows).front();
      for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{32}, std::size_t{600}}) {
        expect_least<cuda::topk::ShortElements>(values, equal_offsets(segments, rows), true, k);
      }
      expect_least<cuda::topk::LongElements>(values, equal_offsets(segments, rows), true, 32);
    }
  }
}

TEST_F(SegmentsOnGpu, LongWithManyWanted) {
  const std::size_t segments = kEmulated ? 2 : 600;
  constexpr std::size_t kRows = 33'003;
  for (const Distribution distribution :
       {Distribution::independent, Distribution::few_distinct, Distribution::descending}) {
    SCOPED_TRACE(name_of(distribution));
    const Values values = make_columns(distribution, segments * kRows, 1, KeyWidth::bytes8, kRows).front();
    expect_least<cuda::topk::ShortElements>(values, equal_offsets(segments, kRows), true, 20);
    expect_least<cuda::topk::ShortElements>(values, equal_offsets(segments, kRows), true, 100);
    expect_least<cuda::topk::ShortElements>(values, equal_offsets(segments, kRows), true, 1024);
    expect_least<cuda::topk::LongElements>(values, equal_offsets(segments, kRows), true, 1000);
  }
}

TEST_F(SegmentsOnGpu, OfManyLengths) {
  std::mt19937_64 engine(9);
  std::vector<std::size_t> lengths{5, 0, 1, 40'000, 17, 4096, 0, 900};
  if (!kEmulated) lengths.push_back(140'000);  // more bytes than a sample is taken of
  std::vector<std::size_t> offsets{0};
  for (const std::size_t rows : lengths) offsets.push_back(offsets.back() + rows);
  Values values(offsets.back());
  for (std::uint64_t& value : values) value = engine() % 50'000;
  for (const std::size_t k : {1, 16, 1000}) {
    expect_least<cuda::topk::ShortElements>(values, offsets, false, k);
    expect_least<cuda::topk::LongElements>(values, offsets, false, k);
    expect_least<cuda::topk::ManyElements>(values, offsets, false, k);
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests
