#pragma once

#include <optional>
#include <span>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/expression/ir.hpp"

// Recognises forms of expressions that have faster paths than the interpreter, and properties that plans rely on.
namespace skyrank::exec {

/// A column of the table and what its values are multiplied by.
struct WeightedColumn {
  int column = 0;
  double weight = 1;
};

/// The terms of an expression that is a sum, from left to right, of float32 and float64 columns without NULLs and
/// products of a number and such a column; none of any other expression.
std::vector<WeightedColumn> weighted_columns(const Ir& ir, const Table& table);

/// The same of a sum that is computed in floats, whose columns may also be int32 and int64, and have NULLs.
std::vector<WeightedColumn> weighted_numbers(const Ir& ir, const Table& table);

/// A condition on one column: `x < 5`, `5 >= x`, `x between 1 and 9`, `x in [1, 2]`, `x is null`.
struct ColumnTest {
  const Operation* column = nullptr;
  query::Op op = query::Op::equal;   ///< with the column on the left
  bool negated = false;              ///< in, between, is_null
  const Operation* lower = nullptr;  ///< comparison: the literal; between: the lower end, a literal
  const Operation* upper = nullptr;  ///< comparison: the literal; between: the upper end, a literal
  const Members* members = nullptr;  ///< in
};

/// Returns the test that a condition is; nothing for conditions of any other form.
std::optional<ColumnTest> column_test(const Ir& ir, const Operation& condition);

/// Returns the number that a literal says, rounded where float64 does not hold it; nothing for NULL and other values.
std::optional<double> literal_number(const Operation& literal);

/// Returns true if an expression has a value or NULL for every row, as far as its parts tell: integers and times may
/// overflow where they are computed; floats, truths, and what is taken from times and texts do not.
bool never_fails(std::span<const Operation> operations);
bool never_fails(const Ir& ir);
bool never_fails(const query::BoundExpression& expression);

/// Returns true if an expression is NULL for no row, as far as its parts tell.
bool never_null(const Ir& ir, const Table& table);

}  // namespace skyrank::exec
