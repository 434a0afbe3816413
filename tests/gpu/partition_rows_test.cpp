#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/keys.hpp"
#include "kernels/common/stored.hpp"
#include "kernels/cuda/groups/contenders.hpp"
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

/// Expects the rows that can be among the k best of each partition, and maybe others, in the order of the partitions.
template <class Code, class Key>
std::int64_t expect_contenders(const std::vector<Code>& codes, const std::vector<Key>& keys, std::size_t k) {
  SCOPED_TRACE(std::to_string(k) + " of codes of " + std::to_string(sizeof(Code)) + " bytes and keys of " +
               std::to_string(sizeof(Key)));
  const ThereKeys<Code> there_codes(codes);
  const ThereKeys<Key> there_keys(keys);
  const PartitionedRows all = partition_rows(there_codes.column(), codes.size());
  const PartitionedRows some = partition_contenders(there_codes.column(), there_keys.column(), codes.size(), k);
  EXPECT_EQ(some.first, all.first);
  EXPECT_EQ(some.by_first, all.by_first);
  EXPECT_EQ(some.bounds.size(), all.bounds.size());
  std::vector<std::int64_t> positions(static_cast<std::size_t>(some.bounds.back()));
  std::iota(positions.begin(), positions.end(), 0);
  const auto places = places_at(some, positions);
  std::vector<Key> taken(places.size());
  read_array(taken.data(), take_in_order(there_keys.column(), some).data(), taken.size() * sizeof(Key));
  std::map<Code, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < codes.size(); ++i) members[codes[i]].push_back(i);
  std::size_t partition = 0;
  for (auto& [code, rows] : members) {
    const auto begin = places.begin() + some.bounds[partition];
    const auto end = places.begin() + some.bounds[partition + 1];
    EXPECT_TRUE(std::is_sorted(begin, end));
    std::vector<Key> ranked;
    for (const std::size_t row : rows) ranked.push_back(keys[row]);
    std::ranges::sort(ranked);
    const Key last = ranked[std::min(k, ranked.size()) - 1];
    for (const std::size_t row : rows) {
      if (keys[row] > last) continue;
      EXPECT_TRUE(std::binary_search(begin, end, static_cast<std::int64_t>(row))) << "row " << row;
    }
    for (auto place = begin; place != end; ++place) {
      EXPECT_EQ(codes[static_cast<std::size_t>(*place)], code);
      EXPECT_EQ(keys[static_cast<std::size_t>(*place)], taken[static_cast<std::size_t>(place - places.begin())]);
    }
    ++partition;
  }
  return some.bounds.back();
}

TEST_F(PartitionRows, ContendersAreFewAndNoneIsMissing) {
  constexpr std::size_t kRows = skyrank::tests::kEmulated ? 12'000 : 1'200'000;
  const auto codes = random_codes<std::uint16_t>(kRows, 5);
  const auto few = static_cast<std::int64_t>(kRows / 4);
  EXPECT_LE(expect_contenders(codes, random_codes<std::uint32_t>(kRows, 0), 3), few);
  EXPECT_LE(expect_contenders(codes, random_codes<std::uint64_t>(kRows, 0), 16), few);
  EXPECT_LE(expect_contenders(random_codes<std::uint32_t>(kRows, 2), random_codes<std::uint16_t>(kRows, 0), 1), few);
  EXPECT_LE(expect_contenders(random_codes<std::uint64_t>(kRows, 3), random_codes<std::uint32_t>(kRows, 0), 9), few);
  // The best rows come last, or first.
  std::vector<std::uint32_t> keys(kRows);
  std::iota(keys.begin(), keys.end(), 7);
  expect_contenders(codes, keys, 10);
  std::ranges::reverse(keys);
  expect_contenders(codes, keys, 10);
}

TEST_F(PartitionRows, ContendersOfRareCodesAndEqualKeys) {
  constexpr std::size_t kRows = skyrank::tests::kEmulated ? 12'000 : 1'200'000;
  auto codes = random_codes<std::uint16_t>(kRows, 3);
  codes[kRows - 1] = codes[kRows / 2] = 4;  // of two rows, with a code before that has none
  expect_contenders(codes, random_codes<std::uint32_t>(kRows, 0), 7);
  // All tie: all stay.
  EXPECT_EQ(expect_contenders(codes, std::vector<std::uint32_t>(kRows, 5), 2), static_cast<std::int64_t>(kRows));
  expect_contenders(codes, random_codes<std::uint8_t>(kRows, 2), 2);
  expect_contenders(codes, std::vector<std::uint64_t>(kRows, std::numeric_limits<std::uint64_t>::max()), 2);
  // Too many codes, and more wanted rows than a search is made for.
  EXPECT_EQ(expect_contenders(random_codes<std::uint32_t>(kRows, 1u << 20), random_codes<std::uint32_t>(kRows, 0), 2),
            static_cast<std::int64_t>(kRows));
  EXPECT_EQ(expect_contenders(codes, random_codes<std::uint32_t>(kRows, 0), 300), static_cast<std::int64_t>(kRows));
}

TEST_F(PartitionRows, ContendersOfAllWidthsAndUnevenNumbers) {
  constexpr std::size_t kRows = skyrank::tests::kEmulated ? 9'001 : 900'003;
  const auto with_codes = [&]<class Code>(Code) {
    const auto codes = random_codes<Code>(kRows, 4);
    expect_contenders(codes, random_codes<std::uint8_t>(kRows, 0), 5);
    expect_contenders(codes, random_codes<std::uint16_t>(kRows, 0), 5);
    expect_contenders(codes, random_codes<std::uint32_t>(kRows, 0), 5);
    expect_contenders(codes, random_codes<std::uint64_t>(kRows, 0), 5);
  };
  with_codes(std::uint8_t{});
  with_codes(std::uint16_t{});
  with_codes(std::uint32_t{});
  with_codes(std::uint64_t{});
  for (const std::size_t less : {1, 2, 3}) {
    expect_contenders(random_codes<std::uint16_t>(kRows - less, 4), random_codes<std::uint32_t>(kRows - less, 0), 5);
  }
}

TEST_F(PartitionRows, ContendersOfRowsThatLieByTheirCodes) {
  constexpr std::size_t kRows = skyrank::tests::kEmulated ? 24'000 : 2'400'000;
  const auto keys = random_codes<std::uint32_t>(kRows, 0);
  auto codes = random_codes<std::uint16_t>(kRows, 7);
  std::ranges::sort(codes);
  expect_contenders(codes, keys, 4);
  std::ranges::reverse(codes);
  expect_contenders(codes, keys, 4);
  const std::vector<std::uint16_t> one(kRows, 0);
  expect_contenders(one, keys, 4);
  expect_contenders(std::vector<std::uint16_t>(kRows, 3), keys, 4);
  // Codes that the first rows do not have, one of them in the last row alone.
  codes.assign(kRows, 0);
  for (std::size_t i = kRows / 2; i < kRows; ++i) codes[i] = static_cast<std::uint16_t>(i % 3);
  codes.back() = 6;
  expect_contenders(codes, keys, 4);
}

TEST_F(PartitionRows, ContendersOfPartitionsWithFewerRowsThanAreWanted) {
  constexpr std::size_t kRows = skyrank::tests::kEmulated ? 24'000 : 2'400'000;
  auto codes = random_codes<std::uint16_t>(kRows, 2);
  for (std::size_t i = 0; i < 9; ++i) codes[i * (kRows / 9)] = 3;
  expect_contenders(codes, random_codes<std::uint32_t>(kRows, 0), 20);
  expect_contenders(codes, random_codes<std::uint64_t>(kRows, 3), 20);
}

TEST_F(PartitionRows, KeysWithoutAlignmentAreNotSearched) {
  constexpr std::size_t kRows = skyrank::tests::kEmulated ? 12'001 : 1'200'001;
  const auto codes = random_codes<std::uint16_t>(kRows, 5);
  const auto keys = random_codes<std::uint32_t>(kRows, 0);
  const ThereKeys<std::uint16_t> there_codes(codes);
  const ThereKeys<std::uint32_t> there_keys(keys);
  const KeyColumn shifted{there_keys.column().as<std::uint32_t>() + 1, KeyWidth::bytes4};
  constexpr std::size_t kShifted = kRows - 1;
  EXPECT_EQ(partition_contenders(there_codes.column(), shifted, kShifted, 3).bounds.back(),
            static_cast<std::int64_t>(kShifted));
  EXPECT_LT(partition_contenders(there_codes.column(), there_keys.column(), kShifted, 3).bounds.back(),
            static_cast<std::int64_t>(kShifted));
}

/// Expects values that become keys as they are read to give the contenders of these keys.
template <class Code, class Value, class Key>
void expect_as_keys(const std::vector<Code>& stored_codes, ReadKeys codes, const std::vector<Value>& values,
                    ReadKeys read, const std::vector<std::uint32_t>& made_codes, const std::vector<Key>& made_keys) {
  const ThereKeys<Code> there_codes(stored_codes);
  const ThereKeys<Value> there_values(values);
  const ThereKeys<std::uint32_t> there_made_codes(made_codes);
  const ThereKeys<Key> there_made_keys(made_keys);
  codes.column = there_codes.column();
  read.column = there_values.column();
  const std::size_t n = values.size();
  const std::uint64_t greatest = *std::ranges::max_element(made_codes);
  const Contenders found = find_contenders(codes, greatest, read, n, 6);
  const PartitionedRows expected = partition_contenders(there_made_codes.column(), there_made_keys.column(), n, 6);
  ASSERT_FALSE(found.are_all);
  EXPECT_LT(expected.bounds.back(), static_cast<std::int64_t>(n));
  EXPECT_EQ(found.rows.bounds, expected.bounds);
  EXPECT_EQ(found.rows.first, expected.first);
  EXPECT_EQ(found.rows.by_first, expected.by_first);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(expected.bounds.back()));
  std::iota(positions.begin(), positions.end(), 0);
  EXPECT_EQ(places_at(found.rows, positions), places_at(expected, positions));
}

TEST_F(PartitionRows, ContendersOfValuesAsTheyAreStored) {
  constexpr std::size_t kRows = skyrank::tests::kEmulated ? 12'001 : 1'200'001;
  std::mt19937_64 random(3);
  std::vector<std::int16_t> codes(kRows);
  std::vector<std::uint32_t> made_codes(kRows);
  std::vector<float> floats(kRows);
  std::vector<std::uint32_t> float_keys(kRows);
  std::vector<std::int64_t> integers(kRows);
  std::vector<std::uint64_t> integer_keys(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    made_codes[i] = static_cast<std::uint32_t>(random() % 4);
    codes[i] = static_cast<std::int16_t>(static_cast<int>(made_codes[i]) - 2);
    floats[i] = i % 97 == 0 ? std::numeric_limits<float>::quiet_NaN()
                            : static_cast<float>(static_cast<std::int32_t>(random())) * 0.5F;
    if (i % 89 == 0) floats[i] = -0.0F;
    float_keys[i] = float_key(with_bits_of<std::uint32_t>(floats[i]), true);
    integers[i] = static_cast<std::int64_t>(random());
    integer_keys[i] =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - static_cast<std::uint64_t>(integers[i]);
  }
  const ReadKeys from_minus_two{.column = {}, .flip = 0, .base = ~std::uint64_t{0} - 1};
  expect_as_keys(codes, from_minus_two, floats, {.column = {}, .is_float = true, .high = true}, made_codes, float_keys);
  const IntegerKey<std::uint64_t> high(static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()), true);
  expect_as_keys(codes, from_minus_two, integers, {.column = {}, .flip = high.flip, .base = high.base}, made_codes,
                 integer_keys);
}

}  // namespace
}  // namespace skyrank::kernels::cuda::groups
