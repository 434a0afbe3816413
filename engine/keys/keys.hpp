#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/expression/evaluate.hpp"
#include "kernels/common/problem.hpp"

// Order-preserving keys: from preference values of any type to unsigned integers, smaller is better. NaN is worse than
// every number; NULL is worse than NaN, or better than all where the term says so; -0.0 equals 0.0.
namespace skyrank::exec {

/// A column of n keys that owns or shares its memory. Code that reads keys on the host copies those that are on the
/// device first (keys/device_keys.hpp).
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

}  // namespace skyrank::exec
