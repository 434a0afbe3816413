#pragma once

#include <vector>

#include "engine/expression/evaluate.hpp"

namespace skyrank::exec {

/// Applies `nan:` and `nulls:` to the expressions of all terms. Returns the rows to keep under `exclude`, and `rows`
/// unchanged (as ids) when neither rule drops or refuses rows. Throws DataError that names the first row under `error`.
Vector<RowId> apply_missing_rules(const std::vector<const query::BoundExpression*>& expressions, const Table& table,
                                  const Rows& rows, Missing nan_rule, Missing null_rule);

/// Returns the expressions to which `nan` and `nulls` apply: all of the preference and the ranking, except the
/// conditions of `where` terms, in which NULL means "not true".
std::vector<const query::BoundExpression*> value_expressions(const query::BoundQuery& query);

}  // namespace skyrank::exec
