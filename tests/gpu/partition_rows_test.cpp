#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cuda/groups/partition_rows.hpp"
#include "tests/build.hpp"
#include "tests/gpu/gpu_test.hpp"

// Rows of equal codes brought together, beside a map of the host.
namespace skyrank::kernels::cuda::groups {
namespace {

using PartitionRows = gpu_testing::GpuTest;

constexpr std::size_t kMany = skyrank::tests::kEmulated ? 3'000 : 3'000'000;

/// Values in device memory, as a column of keys.
template <class Key>
struct ThereKeys {
  explicit ThereKeys(const std::vector<Key>& keys) : array(keys.data(), keys.size() * sizeof(Key)) {}

  KeyColumn column() const { return {array.data(), static_cast<KeyWidth>(sizeof(Key))}; }

  DeviceArray array;
};

template <class Key>
void expect_partitions(const std::vector<Key>& codes) {
  SCOPED_TRACE(std::to_string(codes.size()) + " codes of " + std::to_string(sizeof(Key)) + " bytes");
  std::map<Key, std::vector<std::int64_t>> expected;
  for (std::size_t i = 0; i < codes.size(); ++i) expected[codes[i]].push_back(static_cast<std::int64_t>(i));

  const ThereKeys<Key> there(codes);
  const PartitionedRows rows = partition_rows(there.column(), codes.size());
  ASSERT_EQ(rows.count(), static_cast<std::int64_t>(expected.size()));
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> bounds{0};
  std::vector<std::int64_t> first;
  std::vector<Key> sorted;
  for (const auto& [code, places] : expected) {
    order.insert(order.end(), places.begin(), places.end());
    bounds.push_back(static_cast<std::int64_t>(order.size()));
    first.push_back(places.front());
    sorted.insert(sorted.end(), places.size(), code);
  }
  EXPECT_EQ(std::vector<std::int64_t>(rows.bounds.begin(), rows.bounds.end()), bounds);
  EXPECT_EQ(std::vector<std::int64_t>(rows.first.begin(), rows.first.end()), first);
  std::vector<std::int64_t> by_first(first.size());
  std::iota(by_first.begin(), by_first.end(), 0);
  std::ranges::sort(by_first, {}, [&](std::int64_t p) { return first[static_cast<std::size_t>(p)]; });
  EXPECT_EQ(std::vector<std::int64_t>(rows.by_first.begin(), rows.by_first.end()), by_first);
  std::vector<std::int64_t> all(codes.size());
  std::iota(all.begin(), all.end(), 0);
  std::ranges::reverse(all);  // places are those of any positions, in any order
  std::ranges::reverse(order);
  const auto places = places_at(rows, all);
  EXPECT_TRUE(std::ranges::equal(places, order));
  std::vector<Key> taken(codes.size());
  read_array(taken.data(), take_in_order(there.column(), rows).data(), taken.size() * sizeof(Key));
  EXPECT_EQ(taken, sorted);
}

template <class Key>
std::vector<Key> random_codes(std::size_t n, std::uint64_t below) {
  std::mt19937_64 random(n + below);
  std::vector<Key> codes(n);
  for (Key& code : codes) code = static_cast<Key>(below == 0 ? random() : random() % below);
  return codes;
}

TEST_F(PartitionRows, OfEveryWidthAndSize) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{33}, std::size_t{257}, kMany}) {
    for (const std::uint64_t below : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{200}, std::uint64_t{0}}) {
      expect_partitions(random_codes<std::uint8_t>(n, below));
      expect_partitions(random_codes<std::uint16_t>(n, below));
      expect_partitions(random_codes<std::uint32_t>(n, below));
      expect_partitions(random_codes<std::uint64_t>(n, below));
    }
  }
}

TEST_F(PartitionRows, OfCodesAtTheEnds) {
  constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();
  expect_partitions<std::uint64_t>({kHighest, 0, kHighest - 1, kHighest, std::uint64_t{1} << 32, 0, 1});
  expect_partitions<std::uint64_t>({0xffffffff, 0, 0xffffffff, 1});
  expect_partitions<std::uint32_t>({0xffffffff, 0xffffffff});
  expect_partitions<std::uint32_t>({5, 4, 3, 2, 1, 0});
}

TEST_F(PartitionRows, OfNone) {
  const PartitionedRows rows = partition_rows({nullptr, KeyWidth::bytes4}, 0);
  EXPECT_EQ(rows.count(), 0);
  EXPECT_EQ(rows.bounds, Vector<std::int64_t>{0});
  EXPECT_TRUE(places_at(rows, {}).empty());
  EXPECT_EQ(take_in_order({nullptr, KeyWidth::bytes8}, rows).bytes(), 0U);
}

}  // namespace
}  // namespace skyrank::kernels::cuda::groups
