#pragma once

#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <type_traits>

// CUDA's arithmetic on bits and its min and max.

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline int __ffsll(long long x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1; }

inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= ((x >> bit) & 1U) << (31 - bit);
  return reversed;
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}

/// Byte i of the result is the byte of y:x that nibble i of the selector names; the nibble's high bit spreads its sign.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(y) << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned nibble = selector >> (4 * i) & 15U;
    auto byte = static_cast<unsigned>(bytes >> (8 * (nibble & 7U)) & 255U);
    if ((nibble & 8U) != 0) byte = (byte & 128U) != 0 ? 255U : 0U;
    result |= byte << (8 * i);
  }
  return result;
}

inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) << (shift & 31U) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) >> (shift & 31U));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(x) * y >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  __extension__ using Product = unsigned __int128;
  return static_cast<unsigned long long>(static_cast<Product>(x) * y >> 64);
}

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

/// To the range from 0 to 1; 0 of NaN.
inline float __saturatef(float x) { return x >= 1 ? 1.0F : x > 0 ? x : 0.0F; }
/// The device's is off by two units in the last place.
inline float __fdividef(float x, float y) { return x / y; }
/// Towards zero; what does not fit becomes the nearest unsigned integer, NaN zero.
inline unsigned __float2uint_rz(float x) {
  if (!(x > 0)) return 0;
  return x < 0x1p32F ? static_cast<unsigned>(x) : ~0u;
}

// Rounded one by one, never contracted.
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dsub_rn(double x, double y) { return x - y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __dsqrt_rn(double x) { return std::sqrt(x); }
inline double __fma_rn(double x, double y, double z) { return std::fma(x, y, z); }

#define EMULATOR_MIN_MAX(x_type, y_type)                                                  \
  constexpr std::common_type_t<x_type, y_type> min(x_type x, y_type y) {                  \
    using T = std::common_type_t<x_type, y_type>;                                         \
    return static_cast<T>(x) < static_cast<T>(y) ? static_cast<T>(x) : static_cast<T>(y); \
  }                                                                                       \
  constexpr std::common_type_t<x_type, y_type> max(x_type x, y_type y) {                  \
    using T = std::common_type_t<x_type, y_type>;                                         \
    return static_cast<T>(x) > static_cast<T>(y) ? static_cast<T>(x) : static_cast<T>(y); \
  }

EMULATOR_MIN_MAX(int, int)
EMULATOR_MIN_MAX(unsigned, unsigned)
EMULATOR_MIN_MAX(int, unsigned)
EMULATOR_MIN_MAX(unsigned, int)
EMULATOR_MIN_MAX(long, long)
EMULATOR_MIN_MAX(unsigned long, unsigned long)
EMULATOR_MIN_MAX(long, unsigned long)
EMULATOR_MIN_MAX(unsigned long, long)
EMULATOR_MIN_MAX(long long, long long)
EMULATOR_MIN_MAX(unsigned long long, unsigned long long)
EMULATOR_MIN_MAX(long long, unsigned long long)
EMULATOR_MIN_MAX(unsigned long long, long long)
#undef EMULATOR_MIN_MAX

// The result for a number and a NaN is the number.
inline float min(float x, float y) { return std::fmin(x, y); }
inline float max(float x, float y) { return std::fmax(x, y); }
inline double min(double x, double y) { return std::fmin(x, y); }
inline double max(double x, double y) { return std::fmax(x, y); }
inline double min(float x, double y) { return std::fmin(x, y); }
inline double max(float x, double y) { return std::fmax(x, y); }
inline double min(double x, float y) { return std::fmin(x, y); }
inline double max(double x, float y) { return std::fmax(x, y); }
