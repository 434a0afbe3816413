#pragma once

#include <cstdint>
#include <span>

#include "kernels/common/problem.hpp"

namespace skyrank::bench {

/// The greatest of all keys, read once with all threads of the caller's TBB arena and full vectors: what a top-k
/// algorithm that looks at every key cannot be faster than, unless it needs no look at all of them.
std::uint64_t parallel_maximum(std::span<const kernels::KeyColumn> columns, std::size_t n);

}  // namespace skyrank::bench
