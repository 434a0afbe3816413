#pragma once

#include <vector>

#include "engine/expression/evaluate.hpp"

namespace skyrank::exec {

/// Applies `nan:` and `nulls:` to the expressions of all terms. Returns the rows to keep under `exclude`, and `rows`
/// unchanged (as ids) when neither rule drops or refuses rows. Throws DataError that names the first row under `error`.
Vector<RowId> apply_missing_rules(const std::vector<const query::BoundExpression*>& expressions, const Table& table,
                                  const Rows& rows, Missing nan_rule, Missing null_rule);

}  // namespace skyrank::exec
