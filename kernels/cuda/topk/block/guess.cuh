#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/hash.hpp"

// The state that the kernels that guess a threshold pass to each other.
namespace skyrank::kernels::cuda::topk {

/// In device memory, set by the kernel that finds the threshold. Elements at or below it are candidates.
template <class Element>
struct Guess {
  unsigned failed;
  unsigned long long candidates;
  Element threshold;
};

/// A place in the i-th of `count` nearly equal stretches of n rows, count <= n, which leave none of them out: any order
/// of the rows is as good as a random one, as long as a block's stretches lie all over them. No two are the same.
__device__ inline std::size_t sampled_place(std::size_t i, std::size_t count, std::size_t n) {
  const std::uint64_t length = n / count;
  const std::uint64_t longer = n - length * count;
  return i * length + (i < longer ? i : longer) + __umul64hi(mix((i + 1) * kGoldenRatio), length);
}

/// Returns the place, in a sample, of the member-th element of a group, among `groups`. Neighbours go to different
/// groups, so that the best rows of sorted data do not meet in one, and each member's turn is shifted, so that those of
/// many sorted runs do not either.
__device__ inline std::size_t sample_of_group(unsigned group, unsigned member, unsigned groups) {
  const unsigned shift = __umulhi(member * static_cast<unsigned>(kGoldenRatio >> 32), groups);
  const unsigned rotated = group + shift < groups ? group + shift : group + shift - groups;
  return std::size_t{member} * groups + rotated;
}

}  // namespace skyrank::kernels::cuda::topk
