#pragma once

#include <cstddef>

// How lists are put in order (least_in_order.hpp), as far as others plan with it. Plain arithmetic, for the host.
namespace skyrank::kernels::cuda::topk {

/// Lists up to so long are ordered without guessing.
inline constexpr std::size_t kMaxCounted = 8192;
/// Longer lists would need more buckets than shared memory can count.
inline constexpr std::size_t kMaxOrdered = std::size_t{20} << 20;

/// Most bytes of wanted elements that the minima of groups of a list bound: these have to fit shared memory.
inline constexpr std::size_t kMaxSelectedBytes = std::size_t{16} * 1024;

/// Returns true if the k least of a guessed list of `size` elements in the mean, of so many bytes each, are found by
/// distributing all of them to buckets; shorter lists and fewer wanted elements take less.
constexpr bool is_distributed(std::size_t size, std::size_t k, std::size_t element_bytes) {
  return size > kMaxCounted / 2 && (k > kMaxSelectedBytes / element_bytes || k > size / 2);
}

}  // namespace skyrank::kernels::cuda::topk
