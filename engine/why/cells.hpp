#pragma once

#include <optional>
#include <string>

#include <skyrank/table.hpp>

#include "engine/query/ast.hpp"

// Values of one cell of a table as numbers in whose order they compare, and tables in which one cell is another.
namespace skyrank::exec {

/// Values of a column between two codes, both included.
template <class Code>
struct CodeInterval {
  Code low{};
  Code high{};
};

/// Returns why no least change of values of such a column can be told; empty where it can.
std::string unknown_cells(const Column& column);

/// Returns the code of a value of a column: decimals without their point, days, ticks; nothing for NULL and NaN.
std::optional<Int128> exact_code(const Value& value, DataType type);
std::optional<double> float_code(const Value& value);

/// Returns the lowest and the highest code of a type.
CodeInterval<Int128> exact_codes(DataType type);

/// Returns the value of a code.
Value value_of(Int128 code, DataType type);

/// Returns the values for which `value <comparison> literal` is true, those of a type's range; nothing where the
/// literal has no exact place among them. An interval without values has `low > high`.
std::optional<CodeInterval<Int128>> exact_interval(query::Op comparison, const Value& literal, DataType type);
std::optional<CodeInterval<double>> float_interval(query::Op comparison, const Value& literal, DataType type);

/// Returns the column with another value in one row, in memory of its own.
Column with_cell(const Column& column, RowId row, Int128 code);
Column with_cell(const Column& column, RowId row, double code);

}  // namespace skyrank::exec
