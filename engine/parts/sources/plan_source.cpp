#include "engine/parts/sources/plan_source.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <variant>

#include "engine/parts/memory/source_memory.hpp"
#include "engine/parts/sources/by_units.hpp"
#include "engine/parts/sources/prune.hpp"
#include "engine/parts/sources/query_units.hpp"
#include "engine/parts/states/spilled_groups.hpp"

namespace skyrank::exec {

using query::BoundQuery;

namespace {

constexpr std::int64_t kRowsOfGroup = 40;  // a group of partial answers takes as long as so many rows
constexpr std::array kRulesOfSources = {Rule::late_columns, Rule::unit_pruning, Rule::by_units};

/// Returns true if the answer has far fewer rows than the table, as a rule.
bool has_few_rows(const BoundQuery& query) { return query.preference || query.limit; }

std::vector<int> columns_of_selection(BoundQuery query) {
  query.outputs.clear();
  return query::columns_read(query);
}

void plan_columns(SourcePlan& plan) {
  plan.columns = query::columns_read(plan.query);
  if (!plan.rules.rules().has(Rule::late_columns)) return;
  if (plan.query.group || !has_few_rows(plan.query)) {
    return plan.rules.left_out(Rule::late_columns, "the answer may have as many rows as the table");
  }
  const std::vector<int> all = std::exchange(plan.columns, columns_of_selection(plan.query));
  std::ranges::set_difference(all, plan.columns, std::back_inserter(plan.late));
  if (plan.late.empty()) plan.rules.left_out(Rule::late_columns, "all columns decide which rows are in the answer");
}

void plan_units(SourcePlan& plan, const Source& source) {
  plan.units = all_units(source);
  if (!plan.query.condition || !plan.rules.rules().has(Rule::unit_pruning)) return;
  UnitsToRead pruned = UnitPruner(source).units_with(*plan.query.condition);
  const std::size_t skipped = plan.units.size() - pruned.units.size();
  if (skipped == 0) return plan.rules.left_out(Rule::unit_pruning, "no unit could be skipped: " + pruned.reason);
  plan.rules.applied(Rule::unit_pruning, std::to_string(skipped) + " of " + std::to_string(plan.units.size()) +
                                             " units skipped " + pruned.reason);
  plan.units = std::move(pruned.units);
}

bool is_text(const Source& source, int column) { return source.schema().column(column).type() == Type::string; }

/// Returns true if a column has integers of which the statistics of a unit tell that there are few different ones.
bool has_narrow_range(const Source& source, int column, std::size_t unit) {
  if (!is_integer(source.schema().column(column).type().type)) return false;
  const auto statistics = source.statistics(column);
  const auto row = static_cast<std::int64_t>(unit);
  if (!statistics || statistics->min.is_null(row) || statistics->max.is_null(row)) return false;
  const Value min = statistics->min.value(row);
  const Value max = statistics->max.value(row);
  const auto* const lowest = std::get_if<std::int64_t>(&min);
  const auto* const highest = std::get_if<std::int64_t>(&max);
  std::int64_t width = 0;
  return lowest != nullptr && highest != nullptr && !__builtin_sub_overflow(*highest, *lowest, &width) &&
         width < source.units()[unit].rows / kRowsOfGroup;
}

/// Returns true if whole columns, or the groups of their rows, may not fit the limit of memory, but partial answers of
/// units may.
bool needs_parts(const EngineState& engine, const SourcePlan& plan, const Source& source) {
  if (!plan.may_use_parts()) return false;
  constexpr std::size_t kBytesToGroup = 32;  // a row, where no two are in one group
  const auto rows = static_cast<UInt128>(may_spill_groups(plan.query) ? rows_of(source, plan.units) : 0);
  const std::size_t groups = saturated_bytes(kBytesToGroup * rows);
  return 2 * ColumnSizes(source, plan.columns).of_units(plan.units) + groups > engine.memory->left();
}

/// Returns true if the query may have few groups or partitions in large units, as far as can be told before these are
/// read: strings, of which whole columns would have to unite the dictionaries, and integers of a narrow range.
bool may_have_few_groups(const SourcePlan& plan, const Source& source) {
  constexpr std::int64_t kMinRowsOfUnit = 1 << 16;
  const BoundQuery& query = plan.query;
  const bool plain = !query.condition && !query.at_least && query.path.algorithms.empty() && plan.late.empty();
  if (!plain || !plan.may_use_parts() || (!query.group && !has_few_rows(query))) return false;
  if (rows_of(source, plan.units) < kMinRowsOfUnit * std::ssize(plan.units)) return false;
  const std::vector<int>& columns = query.group ? query.group->columns : query.partition_columns;
  const auto is_narrow = [&](int column) { return has_narrow_range(source, column, plan.units.front()); };
  return !columns.empty() && (std::ranges::any_of(columns, [&](int column) { return is_text(source, column); }) ||
                              std::ranges::all_of(columns, is_narrow));
}

bool may_answer_units(const EngineState& engine, SourcePlan& plan, const Source& source) {
  if (!plan.rules.rules().has(Rule::by_units)) return false;
  if (const auto reason = reason_against_units(engine, plan.query, source, plan.units)) {
    plan.rules.left_out(Rule::by_units, *reason);
    return false;
  }
  return true;
}

/// Returns the way of a query that looks at all rows together.
SourceWay way_of_all(const EngineState& engine, const SourcePlan& plan, const Source& source) {
  return needs_parts(engine, plan, source) ? SourceWay::parts : SourceWay::whole;
}

}  // namespace

bool SourcePlan::may_use_parts() const { return units.size() > 1 && rules.rules().has(Rule::by_units); }

bool SourcePlan::leaves_out_rows(const Source& source) const {
  return !late.empty() || units.size() < source.units().size() || way == SourceWay::units;
}

SourcePlan plan_source(const EngineState& engine, const BoundQuery& query, const Source& source) {
  SourcePlan plan{.query = query, .columns = {}, .late = {}, .units = {}, .rules = RuleLog(engine.rules_of(query))};
  plan_columns(plan);
  plan_units(plan, source);
  plan.way = plan.otherwise = way_of_all(engine, plan, source);
  if (may_answer_units(engine, plan, source)) {
    plan.way = SourceWay::units;
    plan.rules.applied(Rule::by_units, "units may leave far fewer rows than they have");
  } else if (plan.way == SourceWay::parts) {
    read_all_columns(plan);
    plan.rules.applied(Rule::by_units, reason_for_parts(query));
  } else if (may_have_few_groups(plan, source)) {
    plan.way = SourceWay::few_groups;
    plan.rules.applied(Rule::by_units, kFewGroups);
  }
  return plan;
}

SourcePlan plan_all_rows(const EngineState& engine, const SourcePlan& plan, const Source& source,
                         const std::string& why) {
  SourcePlan all{.query = plan.query,
                 .columns = query::columns_read(plan.query),
                 .late = {},
                 .units = all_units(source),
                 .rules = plan.rules};
  for (const Rule rule : kRulesOfSources) {
    if (all.rules.rules().has(rule)) all.rules.left_out(rule, "did not help: " + why);
  }
  all.way = all.otherwise = way_of_all(engine, all, source);
  return all;
}

void read_all_columns(SourcePlan& plan) {
  if (plan.late.empty()) return;
  plan.late.clear();
  plan.columns = query::columns_read(plan.query);
  plan.rules.left_out(Rule::late_columns, "partial answers have all columns");
}

std::vector<std::size_t> units_to_read(const BoundQuery& query, const Source& source) {
  if (!query.condition) return all_units(source);
  return UnitPruner(source).units_with(*query.condition).units;
}

std::string reason_for_parts(const BoundQuery& query) {
  std::string reason = "partial answers, as whole columns do not fit the limit of memory";
  if (may_spill_groups(query)) reason += "; groups that do not fit it either go to a temporary file";
  return reason;
}

bool is_rule_of_sources(const std::string& rule) {
  return std::ranges::any_of(kRulesOfSources, [&](Rule ours) { return rule == name_of(ours); });
}

}  // namespace skyrank::exec
