#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.hpp"
#include "kernels/common/problem.hpp"

namespace skyrank::kernels::cuda::topk {

/// An integer of 128 bits, which ISO C++ has no name for.
__extension__ using Uint128 = unsigned __int128;

/// The rows of a top-k problem as integers that order as the answer wants them: by key, then by row id, or by the row
/// id's complement where ties go to the highest. No two are equal, so "the k least" is one set, on any path.
/// `Key` is of 1 to 8 bytes; `Element` has room for it above the bits of a row id.
template <class KeyT, class ElementT>
struct Elements {
  using Key = KeyT;
  using Element = ElementT;
  static constexpr int kRowBits = sizeof(Element) == 8 ? 32 : 64;
  /// Bits of an element that may be set: its key's and its row id's.
  static constexpr int kBits = 8 * static_cast<int>(sizeof(Key)) + kRowBits;
  static_assert(kBits <= 8 * static_cast<int>(sizeof(Element)));
  static constexpr Element kRowMask = (Element{1} << kRowBits) - 1;

  const Key* keys = nullptr;  ///< keys of all rows, in device memory
  Element complement = 0;     ///< kRowMask where ties go to the highest row ids, else 0

  SKYRANK_HD Element of(Key key, std::size_t row) const {
    return (static_cast<Element>(key) << kRowBits) | (static_cast<Element>(row) ^ complement);
  }
  SKYRANK_HD Element at(std::size_t row) const { return of(keys[row], row); }
  SKYRANK_HD static Key key(Element element) { return static_cast<Key>(element >> kRowBits); }
  SKYRANK_HD std::size_t row(Element element) const {
    return static_cast<std::size_t>((element ^ complement) & kRowMask);
  }
};

/// The three kinds: 64 bits hold a short key and a row id of 32 bits; 128 bits hold all else.
using ShortElements = Elements<std::uint32_t, std::uint64_t>;
using LongElements = Elements<std::uint64_t, Uint128>;
using ManyElements = Elements<std::uint32_t, Uint128>;

/// Elements of narrow keys, for code that reads the keys as they are.
using ByteElements = Elements<std::uint8_t, std::uint64_t>;
using HalfElements = Elements<std::uint16_t, std::uint64_t>;

/// Above every element.
template <class Element>
inline constexpr Element kNoElement = static_cast<Element>(~Element{0});

}  // namespace skyrank::kernels::cuda::topk
