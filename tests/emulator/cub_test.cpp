#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "cub/cub.cuh"
#include "tests/emulator/support.hpp"

namespace skyrank::emulator {
namespace {

/// Asks for the storage, then calls with it.
template <class Call>
void run(Call call) {
  std::size_t bytes = 0;
  ASSERT_EQ(call(nullptr, bytes), cudaSuccess);
  ASSERT_GT(bytes, 0U);
  DeviceArray<std::byte> storage(bytes);
  std::size_t too_few = bytes - 1;
  EXPECT_EQ(call(storage.data(), too_few), cudaErrorInvalidValue);
  EXPECT_EQ(call(storage.data(), bytes), cudaSuccess);
}

template <class Key>
std::vector<Key> random_keys(std::size_t count) {
  std::mt19937_64 random(count);
  std::vector<Key> keys(count);
  for (Key& key : keys) key = static_cast<Key>(random());
  return keys;
}

TEST(RadixSort, SortsKeys) {
  auto keys = random_keys<std::uint64_t>(1000);
  DeviceArray<std::uint64_t> in(keys);
  DeviceArray<std::uint64_t> out(keys.size());
  const auto sort = [&](void* storage, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(storage, bytes, in.data(), out.data(), std::int64_t{1000});
  };
  run(sort);
  std::ranges::sort(keys);
  EXPECT_EQ(out.to_host(), keys);
}

TEST(RadixSort, LooksOnlyAtTheBitsAskedForAndKeepsTheOrderOfTheRest) {
  const auto keys = random_keys<std::uint32_t>(500);
  std::vector<std::uint64_t> positions(keys.size());
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = i;
  DeviceArray<std::uint32_t> keys_in(keys);
  DeviceArray<std::uint32_t> keys_out(keys.size());
  DeviceArray<std::uint64_t> values_in(positions);
  DeviceArray<std::uint64_t> values_out(keys.size());
  const auto digit = [&](std::uint64_t position) { return keys[position] >> 5 & 0x1fU; };
  const auto sort = [&](void* storage, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(storage, bytes, keys_in.data(), keys_out.data(), values_in.data(),
                                           values_out.data(), 500, 5, 10);
  };
  run(sort);
  std::ranges::stable_sort(positions, {}, digit);
  EXPECT_EQ(values_out.to_host(), positions);
  const auto sort_down = [&](void* storage, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairsDescending(storage, bytes, keys_in.data(), keys_out.data(), values_in.data(),
                                                     values_out.data(), 500, 5, 10);
  };
  run(sort_down);
  positions = values_in.to_host();
  std::ranges::stable_sort(positions, std::ranges::greater(), digit);
  EXPECT_EQ(values_out.to_host(), positions);
  EXPECT_EQ(keys_out.to_host()[0], keys[positions[0]]);
}

TEST(RadixSort, OfNoBitsCopies) {
  const auto keys = random_keys<std::uint8_t>(40);
  DeviceArray<std::uint8_t> in(keys);
  DeviceArray<std::uint8_t> out(keys.size());
  const auto sort = [&](void* storage, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeysDescending(storage, bytes, in.data(), out.data(), 40U, 3, 3);
  };
  run(sort);
  EXPECT_EQ(out.to_host(), keys);
}

TEST(RadixSort, DoubleBuffersSayWhereTheAnswerIs) {
  auto keys = random_keys<std::uint16_t>(300);
  DeviceArray<std::uint16_t> first(keys);
  DeviceArray<std::uint16_t> second(keys.size());
  DeviceArray<int> first_values(300);
  DeviceArray<int> second_values(300);
  cub::DoubleBuffer<std::uint16_t> buffer(first.data(), second.data());
  cub::DoubleBuffer<int> values(first_values.data(), second_values.data());
  run([&](void* storage, std::size_t& bytes) { return cub::DeviceRadixSort::SortKeys(storage, bytes, buffer, 300); });
  EXPECT_EQ(buffer.Current(), second.data());
  std::ranges::sort(keys);
  EXPECT_EQ(second.to_host(), keys);
  const auto sort_pairs = [&](void* storage, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(storage, bytes, buffer, values, 300);
  };
  run(sort_pairs);
  EXPECT_EQ(buffer.Current(), first.data());
  EXPECT_EQ(values.Current(), second_values.data());
  EXPECT_EQ(first.to_host(), keys);
}

TEST(Scan, SumsWhatCameBefore) {
  DeviceArray<unsigned> values({3, 1, 4, 1, 5});
  DeviceArray<unsigned> sums(5);
  const auto exclusive = [&](void* storage, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(storage, bytes, values.data(), sums.data(), 5);
  };
  run(exclusive);
  EXPECT_EQ(sums.to_host(), (std::vector<unsigned>{0, 3, 4, 8, 9}));
  const auto in_place = [&](void* storage, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(storage, bytes, values.data(), values.data(), 5);
  };
  run(in_place);
  EXPECT_EQ(values.to_host(), (std::vector<unsigned>{3, 4, 8, 9, 14}));
}

TEST(Scan, CombinesWhatCameBefore) {
  DeviceArray<int> values({5, 3, 4, 1});
  DeviceArray<int> least(4);
  const auto exclusive = [&](void* storage, std::size_t& bytes) {
    const auto lesser = [](int a, int b) { return std::min(a, b); };
    return cub::DeviceScan::ExclusiveScan(storage, bytes, values.data(), least.data(), lesser, 9, 4);
  };
  run(exclusive);
  EXPECT_EQ(least.to_host(), (std::vector<int>{9, 5, 3, 3}));
}

}  // namespace
}  // namespace skyrank::emulator
