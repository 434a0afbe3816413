#include "engine/operators/scan/scan_plan.hpp"

#include "engine/text.hpp"

namespace skyrank::exec {

std::string describe_scan(const query::BoundQuery& query, const Table& table) {
  const std::vector<int> read = query::columns_read(query);
  if (read.empty()) return query.from;
  return query.from + ": " + query::join(read, [&](int column) { return table.column(column).name(); });
}

planner::Cardinality lay_out_scan(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows) {
  plan.operators.scan = make_operator(OperatorKind::scan, describe_scan(plan.query, table), rows);
  return rows;
}

}  // namespace skyrank::exec
