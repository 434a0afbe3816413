#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/topk/block/element.cuh"
#include "kernels/cuda/topk/sampled_threshold/keep.cuh"
#include "tests/kernels/cuda/device_copies.hpp"

// A scan that looks at its first tiles before it waits for the threshold keeps what any scan keeps.
namespace skyrank::kernels::tests {
namespace {

using cuda::DeviceContext;
using cuda::topk::Guess;
using cuda::topk::kScanThreads;
using cuda::topk::LookAhead;

/// Keys in tiles of so many loads of a thread.
template <class E, unsigned kLoads>
struct Kind {
  using Elements = E;
  using Rows = cuda::topk::ApartTiles<E, kScanThreads, kLoads>;
  static constexpr std::size_t kRowsOfTile = kScanThreads * kLoads * sizeof(uint4) / sizeof(typename E::Key);
};

constexpr std::size_t kBlocks = 2;

/// Returns the elements that a scan of few blocks keeps, in order.
template <class Rows, class E>
std::vector<typename E::Element> kept(const std::vector<typename E::Key>& keys, bool last_first,
                                      typename E::Element threshold) {
  using Element = typename E::Element;
  DeviceContext device;
  const cuda::Lease lease(device);
  const auto there = on_device(keys, device);
  const auto guess =
      on_device(std::vector<Guess<Element>>{{.failed = 0, .candidates = 0, .threshold = threshold}}, device);
  const Rows rows(E{there.data(), last_first ? E::kRowMask : Element{0}}, keys.size());
  const auto candidates = on_device(std::vector<Element>(keys.size()), device);
  device.synchronize();
  cuda::launch("keep_candidates", cuda::topk::keep_candidates<Rows, LookAhead<Rows>>,
               {.blocks = kBlocks, .threads = kScanThreads}, device.stream(), rows, guess.data(), candidates.data(),
               keys.size());
  std::vector<Element> found = on_host(candidates, device);
  found.resize(on_host(guess, device).front().candidates);
  std::ranges::sort(found);
  return found;
}

/// With thresholds that let nearly nothing, little and all through.
template <class Rows, class E>
void expect_kept(const std::vector<typename E::Key>& keys, const std::string& what) {
  using Element = typename E::Element;
  for (const bool last_first : {false, true}) {
    const E kind{nullptr, last_first ? E::kRowMask : Element{0}};
    std::vector<Element> all;
    for (std::size_t i = 0; i < keys.size(); ++i) all.push_back(kind.of(keys[i], i));
    std::ranges::sort(all);
    for (const std::size_t rank : {std::size_t{2}, all.size() / 500, all.size() - 1}) {
      SCOPED_TRACE(what + ", " + std::to_string(rank) + " of " + std::to_string(all.size()) +
                   (last_first ? ", last" : ""));
      const std::span wanted = std::span(all).first(rank + 1);
      EXPECT_TRUE(std::ranges::equal((kept<Rows, E>(keys, last_first, all[rank])), wanted));
    }
  }
}

template <class K>
class LookAheadOf : public testing::Test {};

using Kinds = testing::Types<Kind<cuda::topk::ShortElements, 4>, Kind<cuda::topk::ShortElements, 2>,
                             Kind<cuda::topk::LongElements, 4>, Kind<cuda::topk::LongElements, 2>>;
TYPED_TEST_SUITE(LookAheadOf, Kinds);

TYPED_TEST(LookAheadOf, KeepsWhatAnyScanKeeps) {
  using Elements = typename TypeParam::Elements;
  using Key = typename Elements::Key;
  using Rows = typename TypeParam::Rows;
  // Some blocks have tiles behind those they look at, some have fewer; the last tile is not whole.
  for (const std::size_t tiles : {kBlocks * LookAhead<Rows>::kTiles + 5, kBlocks + 1}) {
    std::mt19937_64 engine(tiles);
    std::vector<Key> keys(tiles * TypeParam::kRowsOfTile - 77);
    const auto expect = [&](const std::string& what, auto key) {
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<Key>(key(i));
      expect_kept<Rows, Elements>(keys, what + " keys in " + std::to_string(tiles) + " tiles");
    };
    expect("random", [&](std::size_t) { return engine(); });
    expect("random keys, but no zero among", [&](std::size_t) { return engine() | 8; });
    expect("ascending", [&](std::size_t i) { return 1 + i * 200 / keys.size(); });
    expect("descending", [&](std::size_t i) { return 200 - i * 200 / keys.size(); });
    expect("equal", [](std::size_t) { return 7; });
    expect("the greatest", [](std::size_t) { return ~std::uint64_t{0}; });
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests
