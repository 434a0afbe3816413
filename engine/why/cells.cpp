#include "engine/why/cells.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/column_traits.hpp"
#include "engine/expression/load.hpp"
#include "engine/query/values.hpp"
#include "engine/runtime/stored_values.hpp"

namespace skyrank::exec {
namespace {

using query::Op;

/// Returns 10^digits, digits <= 38.
Int128 power_of_ten(int digits) {
  Int128 power = 1;
  for (int i = 0; i < digits; ++i) power *= 10;
  return power;
}

/// The place of a number among whole codes.
struct Place {
  Int128 floor = 0;
  bool is_exact = true;
};

/// Returns the place of a decimal among decimals of a scale; nothing where it is out of reach.
std::optional<Place> place_of(const Decimal& decimal, int scale) {
  if (decimal.scale <= scale) {
    Int128 code = decimal.unscaled;
    if (__builtin_mul_overflow(code, power_of_ten(scale - decimal.scale), &code)) return std::nullopt;
    return Place{code, true};
  }
  const Int128 unit = power_of_ten(decimal.scale - scale);
  const Int128 quotient = decimal.unscaled / unit;
  const Int128 rest = decimal.unscaled % unit;
  return Place{rest < 0 ? quotient - 1 : quotient, rest == 0};
}

std::optional<Place> place_of(const Value& literal, DataType type) {
  if (const auto* truth = std::get_if<bool>(&literal)) {
    return type.type == Type::boolean ? std::optional(Place{*truth ? 1 : 0}) : std::nullopt;
  }
  if (const auto* date = std::get_if<Date>(&literal)) {
    return type.type == Type::date ? std::optional(Place{date->days}) : std::nullopt;
  }
  if (const auto* time = std::get_if<Timestamp>(&literal)) {
    return type.type == Type::timestamp && time->unit == type.unit ? std::optional(Place{time->ticks}) : std::nullopt;
  }
  if (!is_integer(type.type) && !is_decimal(type.type)) return std::nullopt;
  // The text of a larger float may be another whole number than the float.
  const auto* number = std::get_if<double>(&literal);
  if (number != nullptr && is_integer(type.type) && !(std::abs(*number) < 0x1p53)) return std::nullopt;
  const std::optional<Decimal> decimal = query::decimal_of(literal);
  return decimal ? place_of(*decimal, is_decimal(type.type) ? type.scale : 0) : std::nullopt;
}

template <class Code>
CodeInterval<Code> between(std::optional<Code> low, std::optional<Code> high, CodeInterval<Code> range) {
  return {low ? std::max(*low, range.low) : range.low, high ? std::min(*high, range.high) : range.high};
}

/// Returns the same column of values of type T with another one in one row.
template <class T>
Column replaced(const Column& column, RowId row, T cell) {
  const std::int64_t n = column.size();
  const Rows rows{n};
  std::vector<T> values(static_cast<std::size_t>(n));
  std::vector<bool> valid;
  if (column.may_have_nulls()) valid.resize(values.size());
  for (std::int64_t begin = 0; begin < n; begin += kBlockRows) {
    const std::int64_t size = std::min(kBlockRows, n - begin);
    T scratch[kBlockRows];
    const T* block = nullptr;
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      block = column.type().type == Type::boolean ? load_booleans(column.data(), rows, begin, size, scratch)
                                                  : load_values(column.data(), rows, begin, size, scratch);
    } else {
      block = load_values(column.data(), rows, begin, size, scratch);
    }
    std::copy_n(block, size, values.begin() + begin);
    for (std::int64_t i = begin; i < begin + size && !valid.empty(); ++i) {
      valid[static_cast<std::size_t>(i)] = !column.is_null(i);
    }
  }
  values[static_cast<std::size_t>(row)] = cell;
  if (!valid.empty()) valid[static_cast<std::size_t>(row)] = true;
  return with_traits(Column::own_as(column.name(), column.type(), std::move(values), valid), traits_of(column.data()));
}

}  // namespace

std::string unknown_cells(const Column& column) {
  const Type type = column.type().type;
  if (type == Type::string) return "changes of strings are not determined";
  if (type == Type::float16) return "changes of float16 are not determined";
  const Layout layout = column.data().layout;
  if (layout != Layout::plain && layout != Layout::bits) return "changes of dictionaries are not determined";
  return "";
}

std::optional<Int128> exact_code(const Value& value, DataType type) {
  if (std::holds_alternative<Null>(value)) return std::nullopt;
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return static_cast<Int128>(*number);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<Int128>(*number);
  const std::optional<Place> place = place_of(value, type);
  return place ? std::optional(place->floor) : std::nullopt;
}

std::optional<double> float_code(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr || std::isnan(*number)) return std::nullopt;
  return *number + 0.0;  // -0.0 and 0.0 are one
}

CodeInterval<Int128> exact_codes(DataType type) {
  if (type.type == Type::boolean) return {0, 1};
  if (is_decimal(type.type)) {
    const Int128 end = power_of_ten(type.precision) - 1;
    return {-end, end};
  }
  return with_stored_type(type.type, []<class T>(T) -> CodeInterval<Int128> {
    if constexpr (std::is_integral_v<T>) {
      return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    } else {
      return {};
    }
  });
}

Value value_of(Int128 code, DataType type) {
  if (type.type == Type::boolean) return code != 0;
  if (is_decimal(type.type)) return Decimal{code, type.scale};
  if (type.type == Type::date) return Date{static_cast<std::int32_t>(code)};
  if (type.type == Type::timestamp) return Timestamp{static_cast<std::int64_t>(code), type.unit};
  if (code > std::numeric_limits<std::int64_t>::max()) return static_cast<std::uint64_t>(code);
  return static_cast<std::int64_t>(code);
}

std::optional<CodeInterval<Int128>> exact_interval(Op comparison, const Value& literal, DataType type) {
  const std::optional<Place> place = place_of(literal, type);
  if (!place) return std::nullopt;
  const CodeInterval<Int128> range = exact_codes(type);
  const Int128 at = place->floor;  // the highest code up to the literal
  const Int128 from = place->is_exact ? at : at + 1;
  const std::optional<Int128> open;
  switch (comparison) {
    case Op::less: return between<Int128>(open, from - 1, range);
    case Op::less_equal: return between<Int128>(open, at, range);
    case Op::greater: return between<Int128>(at + 1, open, range);
    case Op::greater_equal: return between<Int128>(from, open, range);
    case Op::equal: return between<Int128>(from, at, range);
    default: return std::nullopt;
  }
}

std::optional<CodeInterval<double>> float_interval(Op comparison, const Value& literal, DataType type) {
  const std::optional<double> number = query::double_of(literal);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool narrow = type.type == Type::float32;
  if (narrow && std::abs(*number) > std::numeric_limits<float>::max()) return std::nullopt;
  const auto next = [&](double from, double to) {
    return narrow ? std::nextafter(static_cast<float>(from), static_cast<float>(to)) : std::nextafter(from, to);
  };
  const double near = narrow ? static_cast<float>(*number) : *number;
  const std::partial_ordering order = query::compare(Value(near), literal);
  if (order == std::partial_ordering::unordered) return std::nullopt;
  const double at = (order > 0 ? next(near, -kInfinity) : near) + 0.0;   // the highest up to the literal
  const double from = (order < 0 ? next(near, kInfinity) : near) + 0.0;  // the lowest from it on
  const CodeInterval<double> range{-kInfinity, kInfinity};
  const std::optional<double> open;
  switch (comparison) {
    case Op::less: return between<double>(open, order == 0 ? next(near, -kInfinity) : at, range);
    case Op::less_equal: return between<double>(open, at, range);
    case Op::greater: return between<double>(order == 0 ? next(near, kInfinity) : from, open, range);
    case Op::greater_equal: return between<double>(from, open, range);
    case Op::equal: return between<double>(from, at, range);
    default: return std::nullopt;
  }
}

Column with_cell(const Column& column, RowId row, Int128 code) {
  return with_stored_type(column.type().type, [&]<class T>(T) -> Column {
    if constexpr (std::is_same_v<T, Int128> || std::is_integral_v<T>) {
      return replaced<T>(column, row, static_cast<T>(code));
    } else {
      return column;  // floats, which have codes of their own
    }
  });
}

Column with_cell(const Column& column, RowId row, double code) {
  if (column.type().type == Type::float32) return replaced<float>(column, row, static_cast<float>(code));
  return replaced<double>(column, row, code);
}

}  // namespace skyrank::exec
