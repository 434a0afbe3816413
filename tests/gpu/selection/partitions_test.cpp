#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "kernels/cuda/select/partitions.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/cuda/device_copies.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// One selection for each of many partitions, against the oracle: a warp's and a block's, of one length and of many.
namespace skyrank::kernels::tests {
namespace {

using PartitionsOnGpu = skyrank::gpu_testing::GpuTest;
using cuda::DeviceContext;

struct Case {
  Values keys;
  std::vector<std::int64_t> bounds;
  std::size_t k = 0;
  TieRule ties = TieRule::first;
  std::size_t offset = 0;
  std::vector<std::int64_t> order = {};
  std::vector<std::uint32_t> places = {};
};

std::vector<RowId> expected(const Case& wanted, KeyWidth width) {
  std::vector<RowId> rows;
  for (std::size_t i = 0; i + 1 < wanted.bounds.size(); ++i) {
    const std::size_t partition = wanted.order.empty() ? i : static_cast<std::size_t>(wanted.order[i]);
    const std::int64_t begin = wanted.bounds[partition];
    const std::int64_t end = wanted.bounds[partition + 1];
    if (begin == end) continue;
    const Values own(wanted.keys.begin() + begin, wanted.keys.begin() + end);
    const auto n = static_cast<std::size_t>(end - begin);
    const std::vector<RowId> best =
        oracle::topk(TopKCase(n, {own}, {width}).problem(std::min(n, wanted.k), wanted.ties));
    for (std::size_t rank = wanted.offset; rank < best.size(); ++rank) {
      const RowId row = begin + best[rank];
      rows.push_back(wanted.places.empty() ? row : RowId{wanted.places[static_cast<std::size_t>(row)]});
    }
  }
  return rows;
}

template <class Key>
Vector<RowId> best_by(const Case& wanted, KeyWidth width) {
  DeviceContext& device = DeviceContext::of_process();
  std::vector<Key> keys(wanted.keys.size());
  std::ranges::transform(wanted.keys, keys.begin(), [](std::uint64_t value) { return static_cast<Key>(value); });
  const auto [there, places] = [&] {
    const cuda::Lease lease(device);
    return std::pair{on_device(keys, device), on_device(wanted.places, device)};
  }();
  return cuda::select::best_of_partitions({.keys = {there.data(), width},
                                           .bounds = wanted.bounds,
                                           .k = wanted.k,
                                           .ties = wanted.ties,
                                           .offset = wanted.offset,
                                           .order = wanted.order,
                                           .places = wanted.places.empty() ? nullptr : places.data()});
}

Vector<RowId> device_answer(const Case& wanted, KeyWidth width) {
  switch (width) {
    case KeyWidth::bytes1: return best_by<std::uint8_t>(wanted, width);
    case KeyWidth::bytes2: return best_by<std::uint16_t>(wanted, width);
    case KeyWidth::bytes4: return best_by<std::uint32_t>(wanted, width);
    case KeyWidth::bytes8: return best_by<std::uint64_t>(wanted, width);
  }
  return {};
}

void expect_best(Case wanted, KeyWidth width) {
  for (const TieRule ties : {TieRule::first, TieRule::last}) {
    wanted.ties = ties;
    EXPECT_TRUE(device_answer(wanted, width) == expected(wanted, width))
        << wanted.k << " of partitions of " << wanted.bounds[1] << " keys of " << static_cast<int>(width)
        << (ties == TieRule::last ? " bytes, ties last" : " bytes");
  }
}

std::vector<std::int64_t> bounds_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> bounds(lengths.size() + 1);
  std::partial_sum(lengths.begin(), lengths.end(), bounds.begin() + 1);
  return bounds;
}

std::vector<std::int64_t> equal_bounds(std::size_t count, std::size_t rows) {
  return bounds_of(std::vector<std::int64_t>(count, static_cast<std::int64_t>(rows)));
}

TEST_F(PartitionsOnGpu, OfOneLength) {
  const std::size_t count = kEmulated ? 3 : 300;
  for (const Distribution distribution : kDistributions) {
    SCOPED_TRACE(name_of(distribution));
    for (const std::size_t rows : {1, 31, 1000, kEmulated ? 2049 : 20'000}) {
      const Values values = make_columns(distribution, count * rows, 1, KeyWidth::bytes8, rows).front();
      for (const std::size_t k : {1, 10, 100, 600}) {
        expect_best({values, equal_bounds(count, rows), k}, KeyWidth::bytes4);
      }
      expect_best({values, equal_bounds(count, rows), 32}, KeyWidth::bytes8);
    }
  }
}

TEST_F(PartitionsOnGpu, LongWithManyWanted) {
  const std::size_t count = kEmulated ? 2 : 600;
  constexpr std::size_t kRows = 33'003;
  for (const Distribution distribution : {Distribution::independent, Distribution::few_distinct}) {
    SCOPED_TRACE(name_of(distribution));
    const Values values = make_columns(distribution, count * kRows, 1, KeyWidth::bytes8, kRows).front();
    for (const std::size_t k : {20, 1024}) {
      expect_best({values, equal_bounds(count, kRows), k}, KeyWidth::bytes4);
    }
    expect_best({values, equal_bounds(count, kRows), 2048}, KeyWidth::bytes8);
  }
}

TEST_F(PartitionsOnGpu, OfManyLengths) {
  std::mt19937_64 engine(9);
  std::vector<std::int64_t> lengths{5, 0, 1, 40'000, 17, 4096, 0, 900, 2049};
  if (!kEmulated) lengths.insert(lengths.end(), {3'000'000, 8192, 8193});
  const std::vector<std::int64_t> bounds = bounds_of(lengths);
  Values values(static_cast<std::size_t>(bounds.back()));
  for (std::uint64_t& value : values) value = engine() % 50'000;
  for (const std::size_t k : {1, 60, 2000}) {
    for (const KeyWidth width : kWidths) expect_best({values, bounds, k}, width);
  }
}

TEST_F(PartitionsOnGpu, OffsetsOrdersAndPlaces) {
  std::mt19937_64 engine(3);
  std::vector<std::int64_t> lengths(kEmulated ? 40 : 5000);
  for (std::int64_t& length : lengths) length = static_cast<std::int64_t>(engine() % 70);
  lengths[7] = 9000;
  Case wanted;
  wanted.bounds = bounds_of(lengths);
  wanted.k = 20;
  wanted.offset = 5;
  wanted.keys.resize(static_cast<std::size_t>(wanted.bounds.back()));
  for (std::uint64_t& key : wanted.keys) key = engine() % 30;
  wanted.order.resize(lengths.size());
  std::iota(wanted.order.begin(), wanted.order.end(), 0);
  std::ranges::shuffle(wanted.order, engine);
  wanted.places.resize(wanted.keys.size());
  std::iota(wanted.places.begin(), wanted.places.end(), 1000U);
  std::ranges::shuffle(wanted.places, engine);
  expect_best(wanted, KeyWidth::bytes4);
  wanted.offset = 20;
  EXPECT_TRUE(device_answer(wanted, KeyWidth::bytes4).empty());
}

/// Keys in every order that makes a bound hard to find, and keys that are far from even.
std::vector<Values> uneven_keys(std::size_t n) {
  std::mt19937_64 engine(n);
  std::normal_distribution<double> near(1e8, 10);
  std::vector<Values> all(11, Values(n));
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t random = engine();
    all[0][i] = i;
    all[1][i] = n - i;
    all[2][i] = random % 1000 << 12;
    // All but a few are close together and far from the least one.
    all[3][i] = i == n / 2 ? 0 : 0xf0000000U + random % 5000;
    // Nearly all are the greatest there is.
    all[4][i] = random % 50 == 0 ? random % 3 : ~std::uint64_t{0};
    // Each is half as far from zero as others.
    all[5][i] = std::uint64_t{0xffffffffU} >> random % 32;
    // The best are with one lane.
    all[6][i] = i / 4 % 32 == 5 ? n - i : 100'000 + i;
    // Nearly all are one key, beside few lesser ones or few greater ones.
    all[7][i] = i % 1600 == 77 ? i : 0x80000000U;
    all[8][i] = i % 1600 == 77 ? 0xf0000000U + i : 0x80000000U;
    all[9][i] = static_cast<std::uint64_t>(near(engine));
    all[10][i] = random % 64 == 0 ? 10 + random / 64 % 2 : 0x10000000U + random % 0x40000000U;
  }
  return all;
}

TEST_F(PartitionsOnGpu, OfUnevenKeys) {
  for (const std::size_t rows : {1, 513, kEmulated ? 4097 : 20'001}) {
    for (const Values& keys : uneven_keys(2 * rows)) {
      for (const std::size_t k : {16, 65, 2048}) expect_best({keys, equal_bounds(2, rows), k}, KeyWidth::bytes4);
      expect_best({keys, equal_bounds(2, rows), 300}, KeyWidth::bytes8);
    }
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests
