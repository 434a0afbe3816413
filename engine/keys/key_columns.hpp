#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/keys/keys.hpp"

// Whole key columns as values: cutting, reordering, comparing and joining them without a look at what they stand for.
namespace skyrank::exec {

/// The keys at `positions`, in that order.
Keys take(const Keys& keys, std::span<const std::int64_t> positions);

/// The keys [begin, ...): a view that `keys` must outlive.
Keys slice(const Keys& keys, std::int64_t begin);

/// The key of one row on the host, whatever the width.
std::uint64_t key_at(const Keys& keys, std::int64_t row);

/// Positions split into runs with equal keys in all columns: run r is positions[bounds[r]], ..., ascending.
struct Runs {
  Vector<std::int64_t> positions;
  Vector<std::int64_t> bounds;
};

/// `positions` come ascending; runs come in ascending order of their keys.
Runs runs_of_equal(const std::vector<Keys>& columns, Vector<std::int64_t> positions);

/// The same keys in exactly `width` bytes (never narrower than they are). Shares memory where that is their width.
Keys widen(const Keys& keys, std::int64_t n, kernels::KeyWidth width);

/// One key column that orders rows as the given columns do lexicographically, for kernels that take one: bits side by
/// side where they fit in 64, else dense ranks, which take a sort of the rows.
Keys combine_prior(const std::vector<Keys>& columns, std::int64_t n);

}  // namespace skyrank::exec
