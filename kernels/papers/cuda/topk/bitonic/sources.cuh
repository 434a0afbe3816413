#pragma once

#include <cstddef>

#include "kernels/cuda/topk/block/element.cuh"
#include "kernels/papers/cuda/topk/bitonic/network.cuh"

// The sources that the kernels of bitonic top-k read.
namespace skyrank::kernels::cuda::topk::network {

/// Elements in memory in place of rows: they are their own keys.
template <class ElementT>
struct OwnKeys {
  using Key = ElementT;
  using Element = ElementT;

  const Key* keys = nullptr;
  Element complement = 0;

  __device__ static Element of(Key key, std::size_t /*row*/) { return key; }
};

/// Keys of rows, in no order.
template <class E>
struct Unsorted {
  using Element = typename E::Element;
  using Key = typename E::Key;
  static constexpr std::size_t kBytes = sizeof(Key);  ///< bytes of a key in memory
  struct alignas(16) Wide {
    Key keys[16 / sizeof(Key)];
  };

  E elements;
  std::size_t n;
  bool aligned;  ///< keys can be read 16 bytes at a time

  __device__ Element at(std::size_t row) const { return row < n ? elements.at(row) : kNoElement<Element>; }

  /// A full tile's rows in any places: neighbouring threads read neighbouring keys. Those of a tile that is cut short
  /// come first, so that runs of padding come last.
  template <int kCount>
  __device__ __forceinline__ void load(std::size_t first, const Plan& plan, const Group& group, unsigned number,
                                       Element (&v)[kCount]) const {
    constexpr int kWide = static_cast<int>(sizeof(Wide) / sizeof(Key));
    const std::size_t tile = std::size_t{1} << plan.tile_bits;
    if (aligned && first + tile <= n) {
#pragma unroll
      for (int j = 0; j < kCount; j += kWide) {
        const std::size_t row = first + j * (tile / kCount) + number * kWide;
        const Wide wide = *reinterpret_cast<const Wide*>(elements.keys + row);
#pragma unroll
        for (int i = 0; i < kWide; ++i) v[j + i] = elements.of(wide.keys[i], row + i);
      }
    } else {
      group.template for_each<kCount>(kNoPadding, [&](int j, unsigned index) { v[j] = at(first + index); });
    }
  }
};

/// Elements of which every 2^run_bits are a run or a bitonic sequence.
template <class ElementT>
struct Sequences {
  using Element = ElementT;
  static constexpr std::size_t kBytes = sizeof(Element);

  const Element* elements;
  std::size_t n;

  __device__ Element at(std::size_t i) const { return i < n ? elements[i] : kNoElement<Element>; }

  template <int kCount>
  __device__ __forceinline__ void load(std::size_t first, const Plan& /*plan*/, const Group& group, unsigned /*number*/,
                                       Element (&v)[kCount]) const {
    group.template for_each<kCount>(kNoPadding, [&](int j, unsigned index) { v[j] = at(first + index); });
  }
};

}  // namespace skyrank::kernels::cuda::topk::network
