#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include <skyrank/types.hpp>

// Values that a query's author wrote, such as targets and members of sets: one representation for each value, exact
// comparison across types, and their spelling in messages.
namespace skyrank::query {

/// A decimal in its one representation: the float64 whose shortest text says it, where there is one, else without zeros
/// at the end.
Value float_if_it_tells(Decimal decimal);

/// The same value in its one representation: integers are int64 unless only uint64 holds them, decimals as above.
Value normalized(Value value);

/// The decimal that a number says: a float64 by its shortest text. Nothing where there is none, and for other values.
std::optional<Decimal> decimal_of(const Value& value);
/// The float64 nearest to a number; nothing for other values.
std::optional<double> double_of(const Value& value);
bool is_infinite(const Value& value);

/// The order of two values that a query's author wrote. Numbers of different types compare exactly, timestamps of
/// different units too, a date as its midnight UTC; unordered: everything else, and NaN.
std::partial_ordering compare(const Value& a, const Value& b);

/// Spells a value as an expression does: 'Oslo', 1.5, date '2017-05-01'. For messages.
std::string spelled(const Value& value);

/// Returns the one name of a type that `cast` takes, in any case and by any of its names ("double precision" is
/// "float64"); nothing where there is no such type.
std::string cast_type_name(std::string_view text);
/// Returns the type of such a name. The unit of "timestamp" is microseconds.
DataType cast_type(std::string_view name);

/// "a number", "a string", ...: what kind of value it is, for messages.
std::string_view kind_of(const Value& value);

}  // namespace skyrank::query
