#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/select/numbers.cuh"

// The least of many numbers, taken in words of 16 bytes as they are stored: one or two instructions a number, where the
// key of a number takes eight.
namespace skyrank::kernels::cuda::select {

/// Functions that the device has instructions for. `kNan`: NaN is less than all numbers; else it is more than all.
namespace instruction {

/// Returns the lesser of each of two pairs of unsigned integers of 16 bits.
__device__ inline std::uint32_t min_pairs(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __vminu2(a, b);
#else
  const std::uint32_t low = min(a & 0xffff, b & 0xffff);
  return (min(a >> 16, b >> 16) << 16) | low;
#endif
}

#if defined(__CUDA_ARCH__)
template <Float format, bool kNan>
__device__ std::uint32_t min_floats(std::uint32_t a, std::uint32_t b) {
  std::uint32_t least;
  if constexpr (format == Float::float32) {
    if constexpr (kNan) {
      asm("min.NaN.f32 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
    } else {
      asm("min.f32 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
    }
  } else if constexpr (format == Float::float16) {
    if constexpr (kNan) {
      asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
    } else {
      asm("min.f16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
    }
  } else {
    if constexpr (kNan) {
      asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
    } else {
      asm("min.bf16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
    }
  }
  return least;
}
#else
/// Returns the lesser of two floats in `bits` bits, of which `exponent` are the exponent's.
template <bool kNan>
std::uint32_t lesser_float(std::uint32_t a, std::uint32_t b, kernels::Element type) {
  const auto order = make_key_order<std::uint32_t>(type, false, kNan);
  return order.of(a) <= order.of(b) ? a : b;
}
template <Float format, bool kNan>
std::uint32_t min_floats(std::uint32_t a, std::uint32_t b) {
  if constexpr (format == Float::float32) return lesser_float<kNan>(a, b, kernels::Element::float32);
  constexpr auto kType = format == Float::float16 ? kernels::Element::float16 : kernels::Element::bfloat16;
  return lesser_float<kNan>(a >> 16, b >> 16, kType) << 16 | lesser_float<kNan>(a & 0xffff, b & 0xffff, kType);
}
#endif

template <bool kNan>
__device__ double min_doubles(double a, double b) {
  const bool is_nan = kNan ? !(a == a) : !(b == b);
  return a < b || is_nan ? a : b;
}

}  // namespace instruction

/// The least of the numbers that it took. `kNan`: floats that are not a number come first. `N`: Numbers.
template <class N, bool kNan>
class LeastNumber {
 public:
  using Stored = typename N::Stored;
  using Key = typename N::Key;

  /// Takes all numbers of a word.
  __device__ void take(const KeyOrder<Key>& order, const uint4& word) {
    if constexpr (sizeof(Stored) == 8) {
      take_one(order, word.x | std::uint64_t{word.y} << 32);
      take_one(order, word.z | std::uint64_t{word.w} << 32);
    } else {
      take_quarter(order, word.x);
      take_quarter(order, word.y);
      take_quarter(order, word.z);
      take_quarter(order, word.w);
    }
  }

  __device__ void take_one(const KeyOrder<Key>& order, Stored number) {
    if constexpr (sizeof(Stored) == 8) {
      const Key bits = number ^ (N::kFloat == Float::none ? order.flip : order.negation);
      if constexpr (N::kFloat == Float::none) {
        least_ = min(least_, bits);
      } else {
        least_ = to_bits(instruction::min_doubles<kNan>(to_double(least_), to_double(bits)));
      }
    } else {
      take_quarter(order, number * kSplat);
    }
  }

  /// Returns the key of the least number; where none was taken it means nothing.
  __device__ Key key(const KeyOrder<Key>& order) const {
    if constexpr (N::kFloat == Float::none && sizeof(Stored) >= 4) return least_;
    if constexpr (sizeof(Stored) >= 4) return order.of(least_ ^ order.negation);
    const Key low = least_ & 0xffff;
    const Key high = least_ >> 16;
    if constexpr (N::kFloat == Float::none) return min(low, high);
    return min(order.of(low ^ order.negation), order.of(high ^ order.negation));
  }

 private:
  /// A number times this is as many of it as four bytes hold.
  static constexpr std::uint32_t kSplat = sizeof(Stored) == 1 ? 0x01010101 : (sizeof(Stored) == 2 ? 0x00010001 : 1);

  /// Returns what all numbers are less than or equal to: the greatest integer, NaN where it comes last, or infinity.
  __device__ static constexpr Key greatest() {
    switch (N::kFloat) {
      case Float::none: return static_cast<Key>(~Key{0});
      case Float::float16: return (kNan ? 0x7c00U : 0x7fffU) * 0x10001U;
      case Float::bfloat16: return (kNan ? 0x7f80U : 0x7fffU) * 0x10001U;
      case Float::float32: return kNan ? 0x7f80'0000U : 0x7fff'ffffU;
      default: return static_cast<Key>(kNan ? 0x7ff0'0000'0000'0000U : 0x7fff'ffff'ffff'ffffU);
    }
  }

  __device__ static double to_double(std::uint64_t bits) {
    double value;
    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
  }
  __device__ static std::uint64_t to_bits(double value) {
    std::uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
  }

  /// Takes the numbers of four bytes.
  __device__ void take_quarter(const KeyOrder<Key>& order, std::uint32_t bits) {
    if constexpr (N::kFloat != Float::none) {
      least_ = instruction::min_floats<N::kFloat, kNan>(least_, bits ^ order.negation * kSplat);
    } else if constexpr (sizeof(Stored) == 4) {
      least_ = min(least_, bits ^ order.flip);
    } else if constexpr (sizeof(Stored) == 2) {
      least_ = instruction::min_pairs(least_, bits ^ order.flip * kSplat);
    } else {
      constexpr std::uint32_t kEven = 0x00ff00ff;
      const std::uint32_t keys = bits ^ order.flip * kSplat;
      least_ = instruction::min_pairs(least_, keys & kEven);
      least_ = instruction::min_pairs(least_, keys >> 8 & kEven);
    }
  }

  Key least_ = greatest();
};

}  // namespace skyrank::kernels::cuda::select
