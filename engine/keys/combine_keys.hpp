#pragma once

#include <cstdint>
#include <vector>

#include "engine/keys/keys.hpp"

// One key in place of several, for kernels that take one: the keys' bits side by side if 64 bits hold them, else the
// dense ranks of their lexicographic order, which takes a sort of the rows.
namespace skyrank::exec {

/// The same keys in exactly `width` bytes (never narrower than they are). Shares memory where that is their width.
Keys widen(const Keys& keys, std::int64_t n, kernels::KeyWidth width);

/// One key column that orders rows as the given columns do lexicographically: bits side by side where they fit in 64,
/// else dense ranks.
Keys combine_prior(const std::vector<Keys>& columns, std::int64_t n);

}  // namespace skyrank::exec
