#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/topk/batched.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/device_copies.hpp"
#include "tests/kernels/problems.hpp"

// One selection for each of many segments: a block's, a warp's, those of one length and of many.
namespace skyrank::kernels::tests {
namespace {

using cuda::DeviceContext;

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

/// Of a segmentation, with the offsets given or, if all segments are as long as the first, not.
template <class E>
void expect_least(const Values& values, const std::vector<std::size_t>& offsets, bool equal, std::size_t k) {
  using Key = typename E::Key;
  std::vector<Key> keys(values.size());
  std::ranges::transform(values, keys.begin(), [](std::uint64_t value) { return static_cast<Key>(value); });
  DeviceContext device;
  const cuda::Lease lease(device);
  const auto there = on_device(keys, device);
  const auto bounds = on_device(offsets, device);
  const std::size_t count = offsets.size() - 1;
  const auto rows = device.allocate<RowId>(count * k);
  device.synchronize();
  cuda::least_of_segments(E{there.data(), 0},
                          {.count = count, .rows = offsets[1], .offsets = equal ? nullptr : bounds.data()}, k,
                          rows.data(), device);
  const std::vector<RowId> found = on_host(rows, device);
  EXPECT_TRUE(found == expected(E{keys.data(), 0}, offsets, k)) << k << " of " << count << " segments";
}

std::vector<std::size_t> equal_offsets(std::size_t count, std::size_t rows) {
  std::vector<std::size_t> offsets(count + 1);
  for (std::size_t i = 0; i <= count; ++i) offsets[i] = i * rows;
  return offsets;
}

TEST_F(SegmentsOnGpu, OfOneLength) {
  const std::size_t segments = kEmulated ? 3 : 300;
  for (const Distribution distribution : kDistributions) {
    SCOPED_TRACE(name_of(distribution));
    for (const std::size_t rows : {100, 1000, 20'000}) {
      const Values values = make_columns(distribution, segments * rows, 1, KeyWidth::bytes8, rows).front();
      for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{32}, std::size_t{600}}) {
        expect_least<cuda::ShortElements>(values, equal_offsets(segments, rows), true, k);
      }
      expect_least<cuda::LongElements>(values, equal_offsets(segments, rows), true, 32);
    }
  }
}

TEST_F(SegmentsOnGpu, OfManyLengths) {
  std::mt19937_64 engine(9);
  std::vector<std::size_t> offsets{0};
  for (const std::size_t rows : {5, 0, 1, 40'000, 17, 4096, 0, 900}) offsets.push_back(offsets.back() + rows);
  Values values(offsets.back());
  for (std::uint64_t& value : values) value = engine() % 50'000;
  for (const std::size_t k : {1, 16, 1000}) {
    expect_least<cuda::ShortElements>(values, offsets, false, k);
    expect_least<cuda::LongElements>(values, offsets, false, k);
    expect_least<cuda::ManyElements>(values, offsets, false, k);
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests
