#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/device/select.cuh"
#include "tests/kernels/cuda/device_copies.hpp"

namespace skyrank::kernels::tests {
namespace {

using cuda::BitIs;
using cuda::DeviceContext;
using cuda::IdAt;
using cuda::ItemAt;

using cuda::Selection;

constexpr std::size_t kFirst = 5'000'000'000;  // beyond 32 bits

/// Bits of which one in `of` is set, with ones behind the n-th that belong to nothing.
std::vector<std::uint32_t> random_bits(std::size_t n, unsigned of, std::mt19937& random) {
  std::vector<std::uint32_t> words(n / 32 + 1, ~0u);
  for (std::size_t i = 0; i < n; ++i) {
    if (random() % of != 0) words[i / 32] &= ~(1u << i % 32);
  }
  return words;
}

void expect_selected(std::size_t n, unsigned of, std::uint32_t wanted) {
  std::mt19937 random(static_cast<unsigned>(n) + of);
  const auto words = random_bits(n, of, random);
  std::vector<std::int32_t> items(n + 1);
  for (std::int32_t& item : items) item = static_cast<std::int32_t>(random());
  std::vector<std::int64_t> places;
  std::vector<std::int32_t> chosen;
  for (std::size_t i = 0; i < n; ++i) {
    if ((words[i / 32] >> i % 32 & 1u) != wanted) continue;
    places.push_back(static_cast<std::int64_t>(kFirst + i));
    chosen.push_back(items[i]);
  }
  DeviceContext device;
  const cuda::Lease lease(device);
  const auto bits = on_device(words, device);
  const auto there = on_device(items, device);
  const Selection selection(BitIs{bits.data(), wanted}, n, device);
  ASSERT_EQ(selection.count(), places.size());
  const auto listed = on_device(std::vector<std::int64_t>(places.size() + 1, -1), device);
  const auto of_items = on_device(std::vector<std::int32_t>(places.size() + 1, -1), device);
  selection.list(IdAt{.first = kFirst}, listed.data());
  selection.list(ItemAt<std::int32_t>{there.data()}, of_items.data());
  places.push_back(-1);  // nothing is written behind them
  chosen.push_back(-1);
  EXPECT_EQ(on_host(listed, device), places);
  EXPECT_EQ(on_host(of_items, device), chosen);
}

TEST(Selections, ListWhatTheyCount) {
  for (const std::size_t n : {0, 1, 31, 32, 33, 1023, 1024, 1025, 8 * 1024 - 1, 8 * 1024, 50'000}) {
    for (const unsigned of : {1u, 2u, 700u, ~0u}) {
      for (const std::uint32_t wanted : {0u, 1u}) {
        SCOPED_TRACE(std::to_string(n) + " places, one of " + std::to_string(of) + " set, " + std::to_string(wanted));
        expect_selected(n, of, wanted);
      }
    }
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests
