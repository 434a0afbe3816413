#include "engine/parts/states/global_rows.hpp"

#include <utility>
#include <vector>

#include "engine/operators/gather/gather.hpp"

namespace skyrank::exec {

void renumber(const query::BoundQuery& query, const StateRows& all, Result& result) {
  for (RowId& row : result.rows) row = all.global(row);
  std::vector<Column> columns = result.table.columns();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (query.outputs[c].kind != query::BoundOutput::Kind::row) continue;
    columns[c] = row_column(result.rows, columns[c].name());
  }
  if (!columns.empty()) result.table = Table(std::move(columns));
}

}  // namespace skyrank::exec
