#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/common/keys.hpp"
#include "kernels/cuda/expression/scan_rows.cuh"

namespace skyrank::kernels::cuda::expression {

/// The form in which a program leaves scores, and how keys of 64 bits are made of them: of floats those of float_key,
/// of integers these themselves in their order.
struct ScoreKind {
  bool is_float;
  bool with_sign;
  bool high;

  /// Returns the bits in which a score differs from a double or int64 of the same order.
  __device__ std::uint64_t flipped_bits() const { return is_float || with_sign ? 0 : std::uint64_t{1} << 63; }
  __device__ std::uint64_t key(std::uint64_t bits, bool valid) const {
    if (!valid) return kNullKey<std::uint64_t>;
    if (is_float) return float_key(bits, high);
    const std::uint64_t ordered = with_sign ? bits ^ std::uint64_t{1} << 63 : bits;
    return high ? ~ordered : ordered;
  }

  /// The scores whose keys are at most some key, or less where none ties with it.
  __device__ ScoreRange<std::uint64_t> range(std::uint64_t most, bool ties) const {
    using Range = ScoreRange<std::uint64_t>;
    Range range(!is_float, high, ties ? most : Range::key_below(!is_float, high, most));
    range.flip(flipped_bits());
    return range;
  }
};

}  // namespace skyrank::kernels::cuda::expression
