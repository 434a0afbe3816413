#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/topk/element.cuh"
#include "kernels/cuda/topk/sampled_threshold/keep.cuh"
#include "tests/kernels/cuda/device_copies.hpp"

// The scan of keys of 1 and 2 bytes: that its tiles cover all rows once, and that it keeps what it should wherever keys
// begin and end, of any tie rule.
namespace skyrank::kernels::tests {
namespace {

using cuda::DeviceContext;
using cuda::topk::ByteElements;
using cuda::topk::Guess;
using cuda::topk::HalfElements;
using cuda::topk::kScanThreads;
using cuda::topk::NarrowTiles;

template <class E, unsigned kLoads, unsigned kBytes = 16>
constexpr std::size_t kRowsOfStretch = NarrowTiles<E, kScanThreads, kLoads, kBytes>::kTile;

template <class E, unsigned kLoads, unsigned kBytes = 16>
void expect_every_stretch_once(std::size_t rows) {
  using Tiles = NarrowTiles<E, kScanThreads, kLoads, kBytes>;
  constexpr std::size_t kApart = 64;
  const Tiles tiles(E{nullptr, 0}, rows);
  const std::size_t stretches = (rows + Tiles::kTile - 1) / Tiles::kTile;
  std::vector<unsigned> read(stretches);
  std::size_t past = 0;
  std::size_t whole = 0;
  for (unsigned tile = 0; tile < tiles.count(); ++tile) {
    const typename Tiles::OfTile of_tile = tiles.stretches(tile);
    EXPECT_LT(of_tile[0], stretches);
    for (unsigned load = 0; load < kLoads; ++load) {
      if (of_tile[load] < stretches)
        ++read[of_tile[load]];
      else
        ++past;
    }
    if (!tiles.is_whole(tile)) continue;
    ++whole;
    EXPECT_TRUE(tiles.covers_all(of_tile));
    EXPECT_EQ(Tiles::stretches_of_whole(tile).first, of_tile.first);
    EXPECT_EQ(Tiles::stretches_of_whole(tile).apart, of_tile.apart);
  }
  EXPECT_LT(past, kLoads);
  EXPECT_EQ(whole, rows / (kLoads * kApart * Tiles::kTile) * kApart) << rows;
  EXPECT_TRUE(std::ranges::all_of(read, [](unsigned times) { return times == 1; })) << rows;
}

TEST(NarrowTiles, CoverEveryStretchOnce) {
  for (const std::size_t stretches : {1, 2, 3, 5, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 511, 513, 2000}) {
    const std::size_t rows = stretches * kRowsOfStretch<HalfElements, 1> - 5;
    expect_every_stretch_once<HalfElements, 1>(rows);
    expect_every_stretch_once<HalfElements, 2>(rows);
    expect_every_stretch_once<HalfElements, 4>(rows);
    expect_every_stretch_once<ByteElements, 4>(2 * rows);
    expect_every_stretch_once<ByteElements, 2, 8>(rows);
  }
}

template <class Rows>
__global__ void read_all(Rows rows, unsigned stretches, uint4* words) {
  for (unsigned stretch = 0; stretch < stretches; ++stretch) {
    uint4 word[1];
    rows.load_words(stretch, word);
    words[stretch * kScanThreads + threadIdx.x] = word[0];
  }
}

/// Expects loads to be zero for keys that are zero, and nowhere else.
template <class E, unsigned kBytes>
void expect_ones_around(std::size_t rows, std::size_t shift) {
  using Key = typename E::Key;
  using Rows = NarrowTiles<E, kScanThreads, 1, kBytes>;
  DeviceContext device;
  const cuda::Lease lease(device);
  const auto keys = on_device(std::vector<Key>(shift + rows), device);
  const Rows tiles(E{keys.data() + shift, 0}, rows);
  const std::size_t first = shift * sizeof(Key) % 16;
  const std::size_t end = first + rows * sizeof(Key);
  const std::size_t stretches = (end + kScanThreads * kBytes - 1) / (kScanThreads * kBytes);
  const auto words = on_device(std::vector<uint4>(stretches * kScanThreads), device);
  device.synchronize();
  cuda::launch("read_all", read_all<Rows>, {.blocks = 1, .threads = kScanThreads}, device.stream(), tiles,
               static_cast<unsigned>(stretches), words.data());
  const std::vector<uint4> loaded = on_host(words, device);
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    unsigned char bytes[sizeof(uint4)];
    std::memcpy(bytes, &loaded[i], sizeof(bytes));
    for (std::size_t j = 0; j < sizeof(bytes); ++j) {
      const std::size_t place = i * kBytes + j;
      const bool there = j < kBytes && first <= place && place < end;
      ASSERT_EQ(bytes[j], there ? 0 : 0xff) << "byte " << j << " of load " << i << ", shift " << shift;
    }
  }
}

TEST(NarrowTiles, LoadOnesWhereNoKeyLies) {
  for (std::size_t shift = 0; shift < 17; ++shift) {
    for (const std::size_t rows : {1, 7, 16, 1000, 4095, 4096, 4097, 9000}) {
      expect_ones_around<ByteElements, 8>(rows, shift);
      expect_ones_around<ByteElements, 16>(rows, shift);
      expect_ones_around<HalfElements, 8>(rows, shift);
      expect_ones_around<HalfElements, 16>(rows, shift);
    }
  }
}

/// Returns the elements that a scan keeps of the keys after the first `shift` ones, in order.
template <class E, unsigned kLoads, unsigned kBytes = 16>
std::vector<typename E::Element> kept(const std::vector<typename E::Key>& keys, std::size_t shift, bool last_first,
                                      typename E::Element threshold) {
  using Element = typename E::Element;
  DeviceContext device;
  const cuda::Lease lease(device);
  const auto there = on_device(keys, device);
  const auto guess =
      on_device(std::vector<Guess<Element>>{{.failed = 0, .candidates = 0, .threshold = threshold}}, device);
  const E elements{there.data() + shift, last_first ? E::kRowMask : Element{0}};
  const NarrowTiles<E, kScanThreads, kLoads, kBytes> rows(elements, keys.size() - shift);
  const auto candidates = on_device(std::vector<Element>(keys.size()), device);
  device.synchronize();
  using Rows = NarrowTiles<E, kScanThreads, kLoads, kBytes>;
  cuda::launch("keep_candidates", cuda::topk::keep_candidates<Rows, cuda::topk::NoLookAhead<Rows>>,
               {.blocks = std::min<std::size_t>(rows.count(), 3), .threads = kScanThreads}, device.stream(), rows,
               guess.data(), candidates.data(), keys.size());
  std::vector<Element> found = on_host(candidates, device);
  found.resize(on_host(guess, device).front().candidates);
  std::ranges::sort(found);
  return found;
}

/// With thresholds at a few of the rows.
template <class E, unsigned kLoads, unsigned kBytes = 16>
void expect_kept(const std::vector<typename E::Key>& keys, std::size_t shift) {
  using Element = typename E::Element;
  for (const bool last_first : {false, true}) {
    const E kind{nullptr, last_first ? E::kRowMask : Element{0}};
    std::vector<Element> all;
    for (std::size_t i = shift; i < keys.size(); ++i) all.push_back(kind.of(keys[i], i - shift));
    std::ranges::sort(all);
    for (const std::size_t rank : {std::size_t{0}, all.size() / 20, all.size() / 2, all.size() - 1}) {
      SCOPED_TRACE(std::to_string(rank) + " of " + std::to_string(all.size()) + (last_first ? ", last" : ""));
      const std::span wanted = std::span(all).first(rank + 1);
      EXPECT_TRUE(std::ranges::equal(kept<E, kLoads, kBytes>(keys, shift, last_first, all[rank]), wanted));
    }
  }
}

template <class E, unsigned kLoads, unsigned kBytes = 16>
void expect_kept_of_every_kind(std::size_t rows, std::size_t shift) {
  using Key = typename E::Key;
  std::mt19937_64 engine(rows);
  std::vector<Key> keys(rows + shift);
  const auto expect = [&](auto key) {
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i < shift ? Key{0} : static_cast<Key>(key(i));
    expect_kept<E, kLoads, kBytes>(keys, shift);
  };
  expect([&](std::size_t) { return engine(); });
  expect([&](std::size_t) { return engine() % 3; });
  expect([&](std::size_t i) { return i * 40 / keys.size(); });
  expect([&](std::size_t i) { return 39 - i * 40 / keys.size(); });
  expect([](std::size_t) { return 0; });
  expect([](std::size_t) { return ~0u; });
}

TEST(NarrowScan, OfSizesAroundTiles) {
  constexpr std::size_t kHalves = kRowsOfStretch<HalfElements, 1>;
  constexpr std::size_t kBytes = kRowsOfStretch<ByteElements, 1>;
  for (const std::size_t shift : {0, 3}) {
    SCOPED_TRACE("shift " + std::to_string(shift));
    expect_kept_of_every_kind<HalfElements, 1>(kHalves - shift, shift);
    expect_kept_of_every_kind<HalfElements, 2>(2 * kHalves + 1, shift);
    expect_kept_of_every_kind<HalfElements, 4>(4 * kHalves, shift);
    expect_kept_of_every_kind<HalfElements, 4>(9 * kHalves - 7, shift);
    expect_kept_of_every_kind<ByteElements, 1>(3 * kBytes + 5, shift);
    expect_kept_of_every_kind<ByteElements, 2>(4 * kBytes - 1, shift);
    expect_kept_of_every_kind<ByteElements, 4>(50, shift);
    expect_kept_of_every_kind<ByteElements, 4>(7 * kBytes, shift);
    expect_kept_of_every_kind<ByteElements, 1, 8>(3 * kBytes + 5, shift);
    expect_kept_of_every_kind<HalfElements, 4, 8>(3 * kHalves - shift, shift);
  }
}

TEST(NarrowScan, OfSeveralGroups) {
  expect_kept_of_every_kind<HalfElements, 1>(150 * kRowsOfStretch<HalfElements, 1> + 9, 1);
  expect_kept_of_every_kind<HalfElements, 2>(130 * kRowsOfStretch<HalfElements, 2>, 0);
  expect_kept_of_every_kind<ByteElements, 4, 8>(260 * kRowsOfStretch<ByteElements, 4, 8>, 1);
}

}  // namespace
}  // namespace skyrank::kernels::tests
