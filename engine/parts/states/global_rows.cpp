#include "engine/parts/states/global_rows.hpp"

#include <utility>
#include <vector>

#include "engine/operators/gather/gather.hpp"

namespace skyrank::exec {

void set_rows(const query::BoundQuery& query, std::vector<RowId> rows, Result& result) {
  result.rows = std::move(rows);
  std::vector<Column> columns = result.table.columns();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (query.outputs[c].kind != query::BoundOutput::Kind::row) continue;
    columns[c] = row_column(result.rows, columns[c].name());
  }
  if (!columns.empty()) result.table = Table(std::move(columns));
}

void renumber(const query::BoundQuery& query, const StateRows& all, Result& result) {
  std::vector<RowId> rows = std::move(result.rows);
  for (RowId& row : rows) row = all.global(row);
  set_rows(query, std::move(rows), result);
}

}  // namespace skyrank::exec
