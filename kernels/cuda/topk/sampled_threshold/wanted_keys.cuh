#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/kernel/registers.cuh"
#include "kernels/cuda/topk/sampled_threshold/tile_reader.cuh"

// Selects from tiles of keys.
namespace skyrank::kernels::cuda::topk {

/// Tells use(bits, element, element_at) which of a tile's elements, loaded by a thread, are at or below the threshold.
/// `element(i)` makes the i-th, where the compiler knows i, and `element_at(i)` makes it for any i. Some key of the
/// tile may be wanted.
template <class Rows, class Use>
__device__ void use_wanted(const Rows& rows, const typename TileReader<Rows>::Words& loaded,
                           const typename Rows::OfTile& stretches, const StretchBound<Rows>& bound,
                           typename Rows::Element threshold, Use use, unsigned thread = Rows::own_thread()) {
  using Key = typename Rows::Item;
  constexpr unsigned kItems = Rows::kLoadsOfTile * Rows::kWidth;
  Key keys[kItems];
  static_assert(sizeof(keys) == sizeof(loaded.words));
  __builtin_memcpy(keys, loaded.words, sizeof(keys));
  const std::size_t first = rows.place(stretches[0], 0, thread);
  const unsigned rows_apart = stretches.apart * Rows::kTile;
  const auto place = [&](unsigned i) { return first + i / Rows::kWidth * rows_apart + i % Rows::kWidth; };
  const auto element = [&](unsigned i) { return rows.element(keys[i], place(i)); };
  const Key most = bound.most(stretches);
  unsigned taken = 0;
#pragma unroll
  for (unsigned i = 0; i < kItems; ++i) taken |= unsigned{keys[i] <= most} << i;
  if (bound.mixed(stretches) || !rows.covers_all(stretches)) {
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const bool wanted = place(i) < rows.size() && element(i) <= threshold;
      taken &= ~(unsigned{!wanted} << i);
    }
  }
  use(taken, element, [&](unsigned i) { return rows.element(chosen_of(keys, i), place(i)); });
}

}  // namespace skyrank::kernels::cuda::topk
