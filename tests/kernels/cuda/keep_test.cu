#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/topk/block/element.cuh"
#include "kernels/cuda/topk/sampled_threshold/keep.cuh"
#include "tests/kernels/cuda/device_copies.hpp"

// The scan of keys in tiles whose loads lie apart: that it keeps every wanted row once, wherever keys
// begin and end.
namespace skyrank::kernels::tests {
namespace {

using cuda::DeviceContext;
using cuda::topk::ApartTiles;
using cuda::topk::ByteElements;
using cuda::topk::Guess;
using cuda::topk::HalfElements;
using cuda::topk::kScanThreads;
using cuda::topk::LongElements;
using cuda::topk::ShortElements;

/// Returns the elements that a scan keeps of the keys after the first `shift` ones, in order.
template <class E, unsigned kLoads>
std::vector<typename E::Element> kept(const std::vector<typename E::Key>& keys, std::size_t shift,
                                      typename E::Element complement, typename E::Element threshold) {
  using Rows = ApartTiles<E, kScanThreads, kLoads>;
  DeviceContext device;
  const cuda::Lease lease(device);
  const auto there = on_device(keys, device);
  using FirstGuess = Guess<typename E::Element>;
  const auto guess = on_device(std::vector<FirstGuess>{{.failed = 0, .candidates = 0, .threshold = threshold}}, device);
  const auto candidates = on_device(std::vector<typename E::Element>(keys.size()), device);
  const Rows rows(E{there.data() + shift, complement}, keys.size() - shift);
  device.synchronize();
  cuda::launch("keep_candidates", cuda::topk::keep_candidates<Rows, cuda::topk::NoLookAhead<Rows>>,
               {.blocks = std::min<std::size_t>(rows.count(), 5), .threads = kScanThreads}, device.stream(), rows,
               guess.data(), candidates.data(), keys.size());
  auto found = on_host(candidates, device);
  found.resize(on_host(guess, device).front().candidates);
  std::ranges::sort(found);
  return found;
}

template <class E, unsigned kLoads>
void expect_kept(const std::vector<typename E::Key>& keys, std::size_t shift, const std::string& what) {
  for (const auto complement : {typename E::Element{0}, E::kRowMask}) {
    std::vector<typename E::Element> all;
    for (std::size_t row = 0; row + shift < keys.size(); ++row) {
      all.push_back(E{nullptr, complement}.of(keys[row + shift], row));
    }
    std::ranges::sort(all);
    for (const std::size_t wanted : {std::size_t{1}, all.size() / 40 + 1, all.size() / 2 + 1, all.size()}) {
      const auto found = kept<E, kLoads>(keys, shift, complement, all[wanted - 1]);
      EXPECT_TRUE(std::ranges::equal(found, std::span(all).first(wanted)))
          << wanted << " of " << all.size() << " rows, " << what << ", shift " << shift
          << (complement == 0 ? "" : ", last first");
    }
  }
}

template <class E, unsigned kLoads>
void expect_kept_of_every_kind(std::size_t stretches, int beside, std::size_t shift) {
  using Key = typename E::Key;
  const std::size_t rows = stretches * ApartTiles<E, kScanThreads, kLoads>::Stretches::kTile + beside - shift;
  std::mt19937_64 engine(rows);
  const auto expect = [&](const std::string& what, auto key) {
    std::vector<Key> keys(shift);  // zeros, that would be kept
    for (std::size_t row = 0; row < rows; ++row) keys.push_back(static_cast<Key>(key(row)));
    expect_kept<E, kLoads>(keys, shift, what);
  };
  expect("random", [&](std::size_t) { return engine(); });
  expect("few values", [&](std::size_t) { return engine() % 3; });
  expect("ascending", [](std::size_t row) { return row / 7; });
  expect("descending", [&](std::size_t row) { return rows - row; });
  expect("zeros", [](std::size_t) { return 0; });
  expect("the greatest", [](std::size_t) { return ~std::uint64_t{0}; });
}

TEST(ApartTiles, KeepEveryWantedRowOnce) {
  for (const std::size_t shift : {0, 1}) {
    expect_kept_of_every_kind<ShortElements, 4>(1, -1000, shift);
    expect_kept_of_every_kind<ShortElements, 4>(3, 0, shift);
    expect_kept_of_every_kind<ShortElements, 2>(5, 1, shift);
    expect_kept_of_every_kind<LongElements, 4>(4, 0, shift);
    expect_kept_of_every_kind<LongElements, 4>(9, -1, shift);
    expect_kept_of_every_kind<LongElements, 2>(6, 3, shift);
    expect_kept_of_every_kind<HalfElements, 4>(1, -1000, shift);
    expect_kept_of_every_kind<HalfElements, 4>(9, -7, 3 * shift);
    expect_kept_of_every_kind<ByteElements, 2>(4, 1, shift);
    expect_kept_of_every_kind<ByteElements, 2>(7, 0, 13 * shift);
  }
}

// A group of tiles is 512 stretches, or 256 of two loads.
TEST(ApartTiles, OfSizesAroundGroups) {
  expect_kept_of_every_kind<LongElements, 2>(255, 1, 0);
  expect_kept_of_every_kind<LongElements, 2>(256, 0, 1);
  expect_kept_of_every_kind<LongElements, 2>(257, 100, 1);
  expect_kept_of_every_kind<ShortElements, 4>(513, -5, 3);
  expect_kept_of_every_kind<ByteElements, 2>(257, 9, 1);
}

}  // namespace
}  // namespace skyrank::kernels::tests
