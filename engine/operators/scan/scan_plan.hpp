#pragma once

#include <string>

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Describes the columns that a query reads of its table as explain shows them.
std::string describe_scan(const query::BoundQuery& query, const Table& table);

/// Lays out the scan of the columns that a query reads. Returns the rows that it gives.
planner::Cardinality lay_out_scan(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows);

}  // namespace skyrank::exec
