#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

// What a query means, row by row and straight from the definitions, with no line in common with the engine. Slow.
namespace skyrank::reference {

/// The value of an expression on a row. `columns(table)` serves queries whose expressions are plain columns.
using Evaluate = std::function<Value(const Expression&, RowId)>;
Evaluate columns(const Table& table);

struct Answer {
  std::vector<RowId> rows;
  std::vector<std::int32_t> levels;  ///< empty without a preference

  bool operator==(const Answer&) const = default;
};

/// Answers a query without group_by. `ties: any` is answered as `first`. Rows with NaN or NULL are dropped under
/// `exclude`; the rule `error` is not for the reference.
Answer answer(const Query& query, const Table& table, const Evaluate& evaluate);

/// Comparison of two values of one type that are neither NaN nor NULL: negative, 0 or positive.
int compare(const Value& a, const Value& b);

}  // namespace skyrank::reference
