#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include <skyrank/types.hpp>

// Crowding distances (Deb et al., IEEE TEVC 6(2), 2002), a term at a time.
namespace skyrank::exec {

/// Returns the difference between the greatest and the least finite value of sorted rows, or 1 where that is not above
/// 0.
template <class ValueOf>
double finite_span(std::span<const RowId> rows, const ValueOf& value) {
  const auto first = std::find_if(rows.begin(), rows.end(), [&](RowId row) { return std::isfinite(value(row)); });
  const auto last = std::find_if(rows.rbegin(), rows.rend(), [&](RowId row) { return std::isfinite(value(row)); });
  if (first == rows.end()) return 1;
  const double span = value(*last) - value(*first);
  return span > 0 ? span : 1;
}

/// Orders rows by a term's values, none of them NaN, then by their ids.
template <class ValueOf>
auto by_value(const ValueOf& value_of) {
  return [&value_of](RowId a, RowId b) {
    const double x = value_of(a);
    const double y = value_of(b);
    return x != y ? x < y : a < b;
  };
}

/// Adds what a term contributes to the crowding distance of the rows of one level, which are in the order of
/// `by_value`. `crowding` has a number for each row id.
template <class ValueOf>
void add_crowding(std::span<const RowId> rows, const ValueOf& value_of, double* crowding) {
  if (rows.empty() || value_of(rows.front()) == value_of(rows.back())) return;
  // Half of each value, so that no difference of finite ones overflows.
  const auto value = [&](RowId row) { return value_of(row) / 2; };
  const double span = finite_span(rows, value);
  crowding[rows.front()] = std::numeric_limits<double>::infinity();
  crowding[rows.back()] = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i + 1 < rows.size(); ++i) {
    const double before = value(rows[i - 1]);
    const double after = value(rows[i + 1]);
    if (after > before) crowding[rows[i]] += (after - before) / span;
  }
}

}  // namespace skyrank::exec
