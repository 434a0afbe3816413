#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/common/host_device.hpp"
#include "kernels/common/select/problem.hpp"
#include "kernels/cuda/topk/block/element.cuh"

namespace skyrank::kernels::cuda::select {

/// Maps the bits of numbers to keys: unsigned integers in the order of the answer. All NaNs have one key, and so have
/// both zeros. A value, so that one kernel serves numbers in either order, with or without a sign.
template <class Key>
struct KeyOrder {
  Key sign = 0;           ///< the sign bit of floats; 0 of integers
  Key flip = 0;           ///< bits to invert where the sign bit is clear,
  Key flip_negative = 0;  ///< and where it is set
  Key infinity = 0;       ///< a number with greater bits, but for the sign, is NaN; all ones of integers
  Key nan = 0;            ///< key of NaN, which no other number has
  Key negative_zero = 0;  ///< bits that mean what 0 means
  Key negation = 0;       ///< the sign bit of floats of which the largest are wanted, else 0

  SKYRANK_HD Key of(Key bits) const {
    if ((bits & static_cast<Key>(~sign)) > infinity) return nan;
    if (bits == negative_zero) bits = 0;
    return bits ^ ((bits & sign) != 0 ? flip_negative : flip);
  }
  SKYRANK_HD bool nan_is_first() const { return nan == 0; }
};

/// Returns the bits of positive infinity of a type of floats.
constexpr std::uint64_t infinity_of(kernels::Element type) {
  switch (type) {
    case kernels::Element::float16: return 0x7c00;
    case kernels::Element::bfloat16: return 0x7f80;
    case kernels::Element::float32: return 0x7f80'0000;
    default: return 0x7ff0'0000'0000'0000;
  }
}

/// Returns the order in which numbers of a type are wanted.
template <class Key>
constexpr KeyOrder<Key> make_key_order(kernels::Element type, bool largest, bool nan_first) {
  constexpr int kKeyBits = 8 * static_cast<int>(sizeof(Key));
  const int bits = 8 * static_cast<int>(bytes_of(type));
  const Key all = static_cast<Key>(~Key{0}) >> (kKeyBits - bits);
  const Key top = Key{1} << (bits - 1);
  const Key inverted = largest ? all : Key{0};
  KeyOrder<Key> order;
  if (!is_float(type)) {
    order.flip = (is_signed(type) ? top : Key{0}) ^ inverted;
    order.flip_negative = order.flip;
    order.infinity = static_cast<Key>(~Key{0});
    order.nan = order.infinity;
    return order;
  }
  order.sign = top;
  order.flip = top ^ inverted;
  order.flip_negative = all ^ inverted;
  order.infinity = static_cast<Key>(infinity_of(type));
  order.nan = nan_first ? Key{0} : all;
  order.negative_zero = top;
  order.negation = largest ? top : Key{0};
  return order;
}

/// The formats of floats; `none`: numbers are integers.
enum class Float : std::uint8_t { none, float16, bfloat16, float32, float64 };

/// Numbers as they are stored, unsigned integers of their width, and as elements: the key above the position of the
/// number. Elements order as the answer does, and no two are equal.
template <class StoredT, Float float_format>
struct Numbers {
  using Stored = StoredT;
  static constexpr Float kFloat = float_format;
  using Key = std::conditional_t<sizeof(Stored) == 8, std::uint64_t, std::uint32_t>;
  using Element = std::conditional_t<sizeof(Stored) == 8, topk::Uint128, std::uint64_t>;
  using Bits = topk::Elements<Key, Element>;

  const Stored* stored = nullptr;  ///< in device memory
  KeyOrder<Key> order = {};
  bool last_ties = false;  ///< equal numbers of which not all are wanted are taken from the end of the row

  SKYRANK_HD Key key_of(Stored number) const { return order.of(number); }
};

}  // namespace skyrank::kernels::cuda::select

/// Calls INSTANTIATE(Numbers<...>), of variable arguments, for all kinds of numbers.
#define SKYRANK_FOR_ALL_NUMBERS(INSTANTIATE)           \
  INSTANTIATE(Numbers<std::uint8_t, Float::none>)      \
  INSTANTIATE(Numbers<std::uint16_t, Float::none>)     \
  INSTANTIATE(Numbers<std::uint32_t, Float::none>)     \
  INSTANTIATE(Numbers<std::uint64_t, Float::none>)     \
  INSTANTIATE(Numbers<std::uint16_t, Float::float16>)  \
  INSTANTIATE(Numbers<std::uint16_t, Float::bfloat16>) \
  INSTANTIATE(Numbers<std::uint32_t, Float::float32>)  \
  INSTANTIATE(Numbers<std::uint64_t, Float::float64>)
