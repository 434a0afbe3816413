#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include <skyrank/types.hpp>

#include "engine/decimal.hpp"
#include "engine/operators/group/exact_sum.hpp"
#include "engine/operators/group/group.hpp"
#include "engine/query/bound.hpp"

// Sums and averages that grow: exact, whatever the order of their values, and rounded once.
namespace skyrank::exec {

/// Sum and number of the values that are not NULL.
template <class Sum>
struct Total {
  Sum sum = {};
  std::int64_t count = 0;

  Total& operator+=(const Total& more) {
    sum += more.sum;
    count += more.count;
    return *this;
  }
};

inline void add_value(WideSum& sum, std::int64_t value) { sum += Int128{value}; }
inline void add_value(WideSum& sum, std::uint64_t value) { sum += static_cast<Int128>(value); }
inline void add_value(WideSum& sum, Int128 value) { sum += value; }
inline void add_value(ExactSum& sum, double value) { sum += value; }

/// Calls f with a value of the type in which a column of an evaluation type stores its values, and with a sum of these.
template <class F>
auto with_summed_type(DataType type, const F& f) {
  switch (type.type) {
    case Type::uint64: return f(std::uint64_t{}, WideSum{});
    case Type::decimal128: return f(Int128{}, WideSum{});
    case Type::float64: return f(double{}, ExactSum{});
    default: return f(std::int64_t{}, WideSum{});
  }
}

/// Returns the sum in its type, which stores values of type T. RowError where it does not hold the sum.
template <class T>
T finished_sum(const WideSum& sum, const query::BoundAggregate& aggregate, RowId first_row) {
  const std::optional<Int128> value = sum.value();
  const bool is_wide = is_decimal(aggregate.type.type);
  const Int128 highest = is_wide ? power_of_ten(kMaxDigits128 - 1) * 10 - 1 : Int128{std::numeric_limits<T>::max()};
  const Int128 lowest = is_wide ? -highest : Int128{std::numeric_limits<T>::min()};
  if (!value || *value < lowest || *value > highest) throw sum_overflow(aggregate, aggregate.type, first_row);
  return static_cast<T>(*value);
}
template <class T>
T finished_sum(const ExactSum& sum, const query::BoundAggregate&, RowId) {
  return static_cast<double>(sum);
}

/// Returns the average of one value or more, of the type `type`.
inline double average(const Total<WideSum>& total, DataType type) {
  if (is_decimal(type.type)) return total.sum.average(total.count, type.scale);
  return static_cast<double>(total.sum.value().value_or(0)) / static_cast<double>(total.count);
}
inline double average(const Total<ExactSum>& total, DataType) {
  return static_cast<double>(total.sum) / static_cast<double>(total.count);
}

}  // namespace skyrank::exec
