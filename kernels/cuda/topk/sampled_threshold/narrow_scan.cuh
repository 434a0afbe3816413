#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/topk/sampled_threshold/tile_reader.cuh"

// Selects from tiles of keys of 1 or 2 bytes. Keys stay together as they were loaded and are compared several at a
// time. Few loads have one that is wanted, and those are looked at one after another, in a loop that needs few
// registers, so that as many loads are under way as for wider keys.
namespace skyrank::kernels::cuda::topk {

/// Keys of a tile that a thread has loaded, by bits. Loads are parts of 4 bytes, compared as they are: the bit of the
/// j-th key of part p is p % kBits + j * kBits, of word p / kBits.
template <class Rows>
class KeysOfTile {
 public:
  using Key = typename Rows::Item;
  static constexpr unsigned kBits = 8 * sizeof(Key);
  static constexpr unsigned kPartsOfLoad = Rows::kWidth * sizeof(Key) / 4;
  static constexpr unsigned kWords = (Rows::kLoadsOfTile * kPartsOfLoad + kBits - 1) / kBits;

  unsigned bits[kWords] = {};

  /// Takes the keys of a load that are at most so great, none if that is -1.
  __device__ void take_up_to(int most, unsigned load, const uint4& word) {
    const unsigned parts[] = {word.x, word.y, word.z, word.w};
    const unsigned bound = static_cast<Key>(most) * (~0u / static_cast<Key>(~Key{0}));  // in all places of a part
    const unsigned wanted = most < 0 ? 0 : kTops;
#pragma unroll
    for (unsigned i = 0; i < kPartsOfLoad; ++i) {
      const unsigned part = load * kPartsOfLoad + i;
      bits[part / kBits] |= (tops_up_to(parts[i], bound) & wanted) >> (kBits - 1 - part % kBits);
    }
  }

  /// Returns the place of a key, counted from the first of the loads, each of which begins so many rows after the one
  /// before.
  __device__ static unsigned offset(unsigned rows_apart, unsigned word, unsigned bit) {
    const unsigned part = word * kBits + bit % kBits;
    return part / kPartsOfLoad * rows_apart + part % kPartsOfLoad * (4 / sizeof(Key)) + bit / kBits;
  }

  /// The key itself. Registers have no addresses: half of the parts are left after each step.
  __device__ static Key key(const LoadedWords<Rows::kLoadsOfTile>& loaded, unsigned word, unsigned bit) {
    constexpr unsigned kParts = Rows::kLoadsOfTile * kPartsOfLoad;
    const unsigned part = word * kBits + bit % kBits;
    unsigned parts[kParts];
#pragma unroll
    for (unsigned i = 0; i < kParts; ++i) {
      const uint4& of_load = loaded.words[i / kPartsOfLoad];
      const unsigned all[] = {of_load.x, of_load.y, of_load.z, of_load.w};
      parts[i] = all[i % kPartsOfLoad];
    }
#pragma unroll
    for (unsigned step = 1; step < kParts; step *= 2) {
#pragma unroll
      for (unsigned i = 0; i < kParts; i += 2 * step) parts[i] = (part & step) != 0 ? parts[i + step] : parts[i];
    }
    return static_cast<Key>(parts[0] >> (bit / kBits * kBits));
  }

 private:
  static constexpr unsigned kTops = kBits == 8 ? 0x80808080u : 0x80008000u;

  /// Has the top bit of each place set where a part is at most so great; the others may be anything.
  __device__ static unsigned tops_up_to(unsigned part, unsigned bound) {
    const unsigned low_bits = (bound | kTops) - (part & ~kTops);  // without a borrow from any place
    return (~part & bound) | (~(part ^ bound) & low_bits);
  }
};

/// Tells use(bits, element) which of a tile's elements, loaded by a thread, are at or below the threshold: bits by
/// words, as in KeysOfTile, and `element(word, bit)` makes one. Keys of 1 or 2 bytes.
template <class Rows, class Use>
__device__ void use_wanted_narrow(const Rows& rows, const typename TileReader<Rows>::Words& loaded,
                                  const typename Rows::OfTile& stretches, const StretchBound<Rows>& bound,
                                  typename Rows::Element threshold, Use use, unsigned thread = Rows::own_thread()) {
  KeysOfTile<Rows> taken;
#pragma unroll
  for (unsigned load = 0; load < Rows::kLoadsOfTile; ++load)
    taken.take_up_to(bound.most(stretches[load]), load, loaded.words[load]);
  const std::size_t first = rows.place(stretches[0], 0, thread);
  const unsigned rows_apart = stretches.apart * Rows::kTile;
  const auto place = [&](unsigned word, unsigned bit) { return first + taken.offset(rows_apart, word, bit); };
  const auto element = [&](unsigned word, unsigned bit) {
    return rows.element(taken.key(loaded, word, bit), place(word, bit));
  };
  if (bound.any_mixed(stretches) || !rows.covers_all(stretches)) {
#pragma unroll
    for (unsigned word = 0; word < taken.kWords; ++word) {
      for (unsigned left = taken.bits[word]; left != 0; left &= left - 1) {
        const auto bit = static_cast<unsigned>(__ffs(static_cast<int>(left)) - 1);
        if (place(word, bit) >= rows.size() || element(word, bit) > threshold) taken.bits[word] &= ~(1u << bit);
      }
    }
  }
  use(taken.bits, element);
}

}  // namespace skyrank::kernels::cuda::topk
