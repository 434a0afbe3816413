#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

// Answers queries row by row and straight from the definitions, with no line in common with the engine. Slow. The
// oracle of tests/differential is another one: it refuses queries whose answers rounding may decide, which this one
// answers.
namespace skyrank::reference {

/// The values of one row, by column name.
using Row = std::function<Value(std::string_view)>;

/// The value of an expression on a row; `column` serves queries whose expressions are plain columns.
using Evaluate = std::function<Value(const Expression&, const Row&)>;
Value column(const Expression& expression, const Row& row);

struct Answer {
  std::vector<RowId> rows;
  std::vector<std::int32_t> levels;       ///< empty without a preference
  std::vector<std::vector<Value>> cells;  ///< by selected column, then by row
};

/// Answers a query. `ties: any` is answered as `first`. Rows with NaN or NULL are dropped under `exclude`; the rule
/// `error` and sums that overflow are not for the reference. Sums of floats are rounded once.
Answer answer(const Query& query, const Table& table, const Evaluate& evaluate);

/// Comparison of two values of one type that are neither NaN nor NULL: negative, 0 or positive.
int compare(const Value& a, const Value& b);

/// The box of a value: floor(value / size), where a size of times is "2s" or "1min" and `unit` that of a timestamp.
Value box(const Value& value, const Value& size, TimeUnit unit);

/// The place of a number between powers of `times`: k from times^k on, up to the next power.
Value ratio_box(const Value& value, double times);

/// Returns true if two values are the same to the bit, except for the bits of NaN.
bool same(const Value& a, const Value& b);

}  // namespace skyrank::reference
