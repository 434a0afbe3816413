#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/source.hpp>
#include <skyrank/table.hpp>
#include <skyrank/why.hpp>

#include "engine/executor/query_context.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/query_memory.hpp"

// Why a row is not in an answer: the stage that drops it, the rows that dominate it, and the least change of each term
// that lets it in. Membership is always asked of the query itself, over a table in which one value is another, so that
// every rule of the language holds; only where to look for the least change needs to know what is monotone
// (changes.cpp).
namespace skyrank::exec {

/// A row of a table, and the query in whose answer it may be. What it refers to outlives it.
struct RowQuestion {
  const QueryContext& context;
  const query::BoundQuery& query;  ///< shows row ids alone, and runs on the CPU
  const std::vector<query::BoundExpression>&
      conditions;  ///< parts that `where` joins by `and`, in the order of the text
  const Table& table;
  RowId row;
};

/// Answers Engine::why. Throws BindError for a query or row that is not supported, and what Engine::run throws.
WhyNot why(const QueryContext& context, const Query& query, const Table& table, RowId row);

/// Reads the columns that a query reads; the table has no others. BindError where the query does not fit the schema.
Table read_whole(const Query& query, const Source& source);

/// Returns the rows of an answer. Here and below: on a thread of the engine.
std::vector<RowId> answer_rows(const QueryContext& context, const query::BoundQuery& query, const Table& table);

/// Returns the truth of a condition on one row: nothing for NULL.
std::optional<bool> truth(const query::BoundExpression& condition, const Table& table, RowId row);

/// Returns the conditions that are false or NULL on the row, by their places; those that cannot be evaluated behind a
/// false one count, too.
std::vector<std::size_t> failed_conditions(const RowQuestion& question);

/// Fills in the stage, its reasons, and the row's place.
void find_stage(const RowQuestion& question, WhyNot& why);

/// Fills in the rows that dominate a row that reaches the preference.
void find_dominators(const RowQuestion& question, WhyNot& why);

/// Fills in the least changes.
void find_changes(const RowQuestion& question, WhyNot& why);

/// Returns the terms of a preference, in the order of its text.
std::vector<const query::BoundPreference*> terms_of(const query::BoundPreference& preference);

/// Returns the rows that pass the filter, ascending.
Vector<RowId> rows_passing(const RowQuestion& question);

/// Returns the rows that reach the preference in the row's partition, ascending.
Vector<RowId> rows_beside(const RowQuestion& question);

}  // namespace skyrank::exec
