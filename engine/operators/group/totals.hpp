#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include <skyrank/types.hpp>

#include "engine/decimal.hpp"
#include "engine/operators/group/exact_sum.hpp"
#include "engine/operators/group/group.hpp"
#include "engine/operators/group/slots/slot_states.hpp"
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

/// Adds a value, which Int128 holds, to a sum of such.
template <class Sum, class T>
void add_value(Sum& sum, T value) {
  sum += static_cast<Int128>(value);
}
inline void add_value(ExactSum& sum, double value) { sum += value; }

/// Calls f with a value of the type in which a column of an evaluation type stores its values, and with a sum of these.
/// Sums of 64-bit integers are of the type IntegerSum: Int128 holds 2^63 values.
template <class IntegerSum = WideSum, class F>
auto with_summed_type(DataType type, const F& f) {
  switch (type.type) {
    case Type::uint64: return f(std::uint64_t{}, IntegerSum{});
    case Type::decimal64: return f(std::int64_t{}, WideSum{});
    case Type::decimal128: return f(Int128{}, WideSum{});
    case Type::float64: return f(double{}, ExactSum{});
    default: return f(std::int64_t{}, IntegerSum{});
  }
}

/// Returns the sum in its type, which stores values of type T. RowError where it does not hold the sum.
template <class T>
T finished_sum(Int128 sum, const query::BoundAggregate& aggregate, RowId first_row) {
  const bool is_wide = is_decimal(aggregate.type.type);
  const Int128 highest = is_wide ? power_of_ten(kMaxDigits128 - 1) * 10 - 1 : Int128{std::numeric_limits<T>::max()};
  const Int128 lowest = is_wide ? -highest : Int128{std::numeric_limits<T>::min()};
  if (sum < lowest || sum > highest) throw sum_overflow(aggregate, first_row);
  return static_cast<T>(sum);
}
template <class T>
T finished_sum(const WideSum& sum, const query::BoundAggregate& aggregate, RowId first_row) {
  const std::optional<Int128> value = sum.value();
  if (!value) throw sum_overflow(aggregate, first_row);
  return finished_sum<T>(*value, aggregate, first_row);
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
template <class Sum>
double average(const Total<Sum>& total, DataType) {
  return static_cast<double>(total.sum) / static_cast<double>(total.count);
}

/// Calls f(finish), where finish(total, first row of the group) returns a sum or an average of one value of type T or
/// more as the aggregate's column stores it.
template <class T, class Sum, class F>
auto with_finish(const query::BoundAggregate& aggregate, const F& f) {
  if (aggregate.function == Aggregate::Function::avg) {
    const DataType type = aggregate.argument->root->type;
    return f([type](const Total<Sum>& total, RowId) { return average(total, type); });
  }
  const auto sums = [&]<class Out>(Out) {
    return f(
        [&](const Total<Sum>& total, RowId first_row) { return finished_sum<Out>(total.sum, aggregate, first_row); });
  };
  if constexpr (std::is_same_v<Sum, WideSum>) {
    if (is_decimal(aggregate.type.type)) return sums(Int128{});  // of 38 digits, whatever the argument has
  }
  return sums(T{});
}

/// Adds up the values of each slot that are not NULL.
template <class T, class Sum>
SlotStates<Total<Sum>> fold_totals(const RowSlots& slots, const Column& argument) {
  const T* const values = static_cast<const T*>(argument.data().values);
  return fold_slots(
      slots, Total<Sum>{},
      [&](Total<Sum>& total, std::int64_t i) {
        if (argument.is_null(i)) return;
        add_value(total.sum, values[i]);
        ++total.count;
      },
      [](Total<Sum>& total, const Total<Sum>& more) { total += more; },
      [&](std::int64_t i) { __builtin_prefetch(values + i); });
}

}  // namespace skyrank::exec
