#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// SIMD loops over one block of numbers, which give the keys that kernels/common/keys.hpp has for them.
namespace skyrank::exec {

/// out[i] = float_key(bits[i], high).
void encode_floats(const std::uint32_t* bits, std::size_t size, bool high, std::uint32_t* out);
void encode_floats(const std::uint64_t* bits, std::size_t size, bool high, std::uint64_t* out);

/// Numbers and what they are multiplied by: either floats or doubles, and the other pointer null.
struct SumTerm {
  const float* floats = nullptr;
  const double* doubles = nullptr;
  double weight = 1;
};

/// Keys of rows [begin, begin + size): of the sums over all terms, at least one, of weight * value, from the first to
/// the last, with every operation rounded.
void encode_sums(std::span<const SumTerm> terms, std::size_t begin, std::size_t size, bool high, std::uint64_t* out);

/// The least float_key(bits[i], high) of every kernels::kZoneRows values; the last zone may have fewer.
void least_float_keys(const std::uint32_t* bits, std::size_t size, bool high, std::uint32_t* out);
void least_float_keys(const std::uint64_t* bits, std::size_t size, bool high, std::uint64_t* out);

}  // namespace skyrank::exec
