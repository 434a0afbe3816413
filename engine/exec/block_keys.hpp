#pragma once

#include <cstddef>
#include <cstdint>

// SIMD loops over one block of numbers: sums as the evaluator computes them, and keys as kernels/common/keys.hpp has
// them.
namespace skyrank::exec {

/// out[i] = float_key(bits[i], high).
void encode_floats(const std::uint32_t* bits, std::size_t size, bool high, std::uint32_t* out);
void encode_floats(const std::uint64_t* bits, std::size_t size, bool high, std::uint64_t* out);

/// sum[i] = weight * values[i].
void scale(const float* values, std::size_t size, double weight, double* sum);
void scale(const double* values, std::size_t size, double weight, double* sum);

/// sum[i] += weight * values[i], with both operations rounded.
void add_scaled(const float* values, std::size_t size, double weight, double* sum);
void add_scaled(const double* values, std::size_t size, double weight, double* sum);

}  // namespace skyrank::exec
