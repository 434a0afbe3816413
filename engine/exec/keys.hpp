#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/exec/evaluate.hpp"
#include "kernels/common/problem.hpp"

// Order-preserving keys: from preference values of any type to unsigned integers, smaller is better. NaN is worse than
// every number, NULL worse than NaN; -0.0 equals 0.0.
namespace skyrank::exec {

/// n keys that own or share their memory, which may be that of the device: who looks at keys themselves brings them to
/// the host first (device/session.hpp).
struct Keys {
  kernels::KeyColumn column;
  std::shared_ptr<const void> owner;
  kernels::Memory memory = kernels::Memory::host;
};

/// Keys of one term (or of `low`/`high` of one ranking term) over `rows`. The width is the smallest of 1, 2, 4, 8 bytes
/// that holds every value exactly: floats keep their own, integers and times count from the best value there is.
/// `around` and `between`: distances, exact unless the expression is a float, then computed as float64. `in`: the place
/// of the value's set, values in no set behind the last one. `where`: 0 for true, 1 for false and for NULL. DataError
/// where an expression fails.
Keys make_keys(const query::BoundPreference& term, const Table& table, const Rows& rows);
Keys make_keys(const query::BoundRankTerm& term, const Table& table, const Rows& rows);

/// The same keys in exactly `width` bytes (never narrower than they are). Shares memory where that is their width.
Keys widen(const Keys& keys, std::int64_t n, kernels::KeyWidth width);

/// One key column that orders rows as the given columns do lexicographically: bits side by side where they fit in 64,
/// else dense ranks.
Keys combine_prior(const std::vector<Keys>& columns, std::int64_t n);

/// Applies the rules `nan` and `nulls` to the expressions of all terms. Returns the rows to keep under `exclude`;
/// DataError naming the first row under `error`. Returns `rows` unchanged (as ids) when both rules are `worst`.
Vector<RowId> apply_missing_rules(const std::vector<const query::BoundExpression*>& expressions, const Table& table,
                                  const Rows& rows, Missing nan_rule, Missing null_rule);

}  // namespace skyrank::exec
