#pragma once

#include <cstddef>

// How lists are put in order (least_in_order.hpp), as far as others plan with it. Plain arithmetic, for the host.
namespace skyrank::kernels::cuda::topk {

/// Lists up to so long are ordered without guessing.
inline constexpr std::size_t kMaxCounted = 8192;
/// Longer lists would need more buckets than shared memory can count.
inline constexpr std::size_t kMaxOrdered = std::size_t{20} << 20;

/// Returns true if a guessed list of `size` elements in the mean is distributed to buckets; shorter ones take less.
constexpr bool is_distributed(std::size_t size) { return size > kMaxCounted / 2; }

}  // namespace skyrank::kernels::cuda::topk
