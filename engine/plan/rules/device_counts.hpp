#pragma once

#include <optional>
#include <string_view>

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

// Decides if a GPU counts which rows dominate which: the rule `device-counts`.
namespace skyrank::exec {

/// Returns true if the query counts which rows dominate which: for a skyband, or for `dominated_by` or `dominates`.
bool counts_dominance(const query::BoundQuery& query);

/// Returns why the host has to count; nothing where the GPU can.
std::optional<std::string_view> why_host_counts(const PhysicalPlan& plan);

/// Returns true if the GPU counts sooner, as a plan prices it whose keys are there if `plan.on_device`.
bool pays_to_count_on_device(PhysicalPlan& plan);

/// Counts dominance on the GPU where the query has to run there, or where that is faster.
void count_on_device(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
