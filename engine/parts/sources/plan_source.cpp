#include "engine/parts/sources/plan_source.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <variant>

#include "engine/parts/memory/source_memory.hpp"
#include "engine/parts/sources/by_codes.hpp"
#include "engine/parts/sources/by_units.hpp"
#include "engine/parts/sources/passing_rows.hpp"
#include "engine/parts/sources/prune.hpp"
#include "engine/parts/sources/query_units.hpp"
#include "engine/parts/sources/units_cost.hpp"
#include "engine/parts/states/spilled_groups.hpp"
#include "engine/plan/rules/decide.hpp"
#include "engine/text.hpp"

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

void plan_units(QueryPlan& plan, const Source& source) {
  plan.units = all_units(source);
  if (!plan.query.condition || !plan.rules.rules().has(Rule::unit_pruning)) return;
  UnitsToRead pruned = UnitPruner(source).units_with(*plan.query.condition);
  const std::size_t skipped = plan.units.size() - pruned.units.size();
  if (skipped == 0) return plan.rules.left_out(Rule::unit_pruning, "no unit could be skipped: " + pruned.reason);
  plan.rules.applied(Rule::unit_pruning, std::to_string(skipped) + " of " + std::to_string(plan.units.size()) +
                                             " units skipped " + pruned.reason);
  plan.units = std::move(pruned.units);
}

/// Returns true if columns that the answer alone shows are read for its rows: they take much of the memory, or reading
/// them with the others takes longer.
bool reads_late(const EngineState& engine, QueryPlan& plan, const Source& source, const std::vector<int>& late,
                double passing) {
  if (take_much_memory(engine, source, plan.units, late)) return true;
  const int threads = engine.arena.max_concurrency();
  const planner::Price alone = price_late_columns(plan.query, source, plan.units, late, passing, threads);
  const double whole = read_seconds(source, plan.units, late, threads);
  return prefers_first(plan.rules, plan.lists_candidates, Rule::late_columns,
                       {"for the rows of the answer", alone.expected}, {"with the other columns", whole},
                       [&] { return std::pair(alone.high, whole); });
}

void plan_columns(const EngineState& engine, QueryPlan& plan, const Source& source, double passing) {
  plan.columns = query::columns_read(plan.query);
  if (!plan.rules.rules().has(Rule::late_columns)) return;
  if (plan.query.group || !has_few_rows(plan.query)) {
    return plan.rules.left_out(Rule::late_columns, "the answer may have as many rows as the table");
  }
  std::vector<int> selecting = columns_of_selection(plan.query);
  std::vector<int> late;
  std::ranges::set_difference(plan.columns, selecting, std::back_inserter(late));
  if (late.empty()) {
    return plan.rules.left_out(Rule::late_columns, "all columns decide which rows are in the answer");
  }
  if (!reads_late(engine, plan, source, late, passing)) {
    return plan.rules.left_out(Rule::late_columns, names_of(source, late) + " read sooner with the other columns");
  }
  plan.rules.applied(Rule::late_columns, names_of(source, late) + " read for the rows of the answer");
  plan.columns = std::move(selecting);
  plan.late = std::move(late);
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

/// Returns true if partial answers of units may be merged.
bool may_use_parts(const QueryPlan& plan) { return plan.units.size() > 1 && plan.rules.rules().has(Rule::by_units); }

/// Plans partial answers, which have all columns, of as many units at a time as fit `room` bytes.
void divide_by_memory(QueryPlan& plan, std::size_t room) {
  plan.division = Division::memory;
  plan.room = room;
  plan.reason = "partial answers, as whole columns do not fit the limit of memory";
  if (may_spill_groups(plan.query)) plan.reason += "; groups that do not fit it either go to a temporary file";
  plan.rules.applied(Rule::by_units, words_of_units(plan.units.size()) + ": " + plan.reason);
  if (plan.late.empty()) return;
  plan.late.clear();
  plan.columns = query::columns_read(plan.query);
  plan.rules.left_out(Rule::late_columns, "partial answers have all columns");
}

/// Returns true if whole columns, or the groups of their rows, may not fit the limit of memory, but partial answers of
/// units may.
bool needs_parts(const EngineState& engine, const QueryPlan& plan, const Source& source) {
  if (!may_use_parts(plan)) return false;
  constexpr std::size_t kBytesToGroup = 32;  // a row, where no two are in one group
  const auto rows = static_cast<UInt128>(may_spill_groups(plan.query) ? rows_of(source, plan.units) : 0);
  const std::size_t groups = saturated_bytes(kBytesToGroup * rows);
  return 2 * ColumnSizes(source, plan.columns).of_units(plan.units) + groups > engine.memory->left();
}

/// Returns true if the query may have few groups or partitions in large units, as far as can be told before these are
/// read: codes, strings, of which whole columns would have to unite the dictionaries, and integers of a narrow range.
bool may_have_few_groups(const EngineState& engine, const QueryPlan& plan, const Source& source) {
  constexpr std::int64_t kMinRowsOfUnit = 1 << 16;
  constexpr std::size_t kUnitsOfThreads = 2;  // whole columns take twice as much work, which all threads share
  const BoundQuery& query = plan.query;
  const std::size_t threads = static_cast<std::size_t>(engine.arena.max_concurrency());
  const bool plain = kUnitsOfThreads * plan.units.size() >= threads && !query.condition && !query.at_least &&
                     !query.counts_dominated_rows() && !query.measures_all_rows() && query.path.algorithms.empty() &&
                     plan.late.empty();
  if (!plain || !may_use_parts(plan) || (!query.group && !has_few_rows(query))) return false;
  if (rows_of(source, plan.units) < kMinRowsOfUnit * std::ssize(plan.units)) return false;
  const std::vector<int>& columns = query.group ? query.group->columns : query.partition_columns;
  const auto is_narrow = [&](int column) { return has_narrow_range(source, column, plan.units.front()); };
  return !columns.empty() && (coded_column(query, source) ||
                              std::ranges::any_of(columns, [&](int column) { return is_text(source, column); }) ||
                              std::ranges::all_of(columns, is_narrow));
}

/// Returns true if whole columns, and whatever is made of them, fit the limit of memory: else units are the better way,
/// however small they are.
bool has_ample_memory(const EngineState& engine, const QueryPlan& plan, const Source& source) {
  constexpr std::size_t kTimes = 8;
  return kTimes * ColumnSizes(source, plan.columns).of_units(plan.units) < engine.memory->limit();
}

/// Returns true if a query takes longer unit by unit than over all rows together, since units are small and hardly any
/// can be skipped.
bool units_take_longer(const EngineState& engine, QueryPlan& plan, const Source& source, double passing) {
  const int threads = engine.arena.max_concurrency();
  const UnitPrices prices = price_units(plan.query, source, plan.units, plan.columns, passing, threads);
  return prefers_first(plan.rules, plan.lists_candidates, Rule::by_units,
                       {"all rows together", prices.together.expected},
                       {"units one by one", prices.one_by_one.expected},
                       [&] { return std::pair(prices.together.high, prices.one_by_one.high); });
}

bool may_answer_units(const EngineState& engine, QueryPlan& plan, const Source& source, double passing) {
  if (!plan.rules.rules().has(Rule::by_units)) return false;
  if (const auto reason = reason_against_units(engine, plan.query, source, plan.units)) {
    plan.rules.left_out(Rule::by_units, *reason);
    return false;
  }
  if (has_ample_memory(engine, plan, source) && units_take_longer(engine, plan, source, passing)) {
    plan.rules.left_out(Rule::by_units, "a query of each unit takes longer than one of all rows");
    return false;
  }
  return true;
}

/// Returns the division of a query that looks at all rows together.
Division division_of_all(const EngineState& engine, const QueryPlan& plan, const Source& source) {
  return needs_parts(engine, plan, source) ? Division::memory : Division::whole;
}

}  // namespace

double expected_units(const QueryPlan& plan, const Source& source) {
  const auto all = static_cast<double>(plan.units.size());
  if (plan.division != Division::units) return all;
  const double passing = rows_passing(plan.query, source, plan.units);
  return std::clamp(price_units(plan.query, source, plan.units, plan.columns, passing, 1).units, 1.0, all);
}

bool leaves_out_rows(const QueryPlan& plan, const Source& source) {
  return !plan.late.empty() || plan.units.size() < source.units().size() || plan.division == Division::units;
}

QueryPlan plan_source(const EngineState& engine, const BoundQuery& query, const Source& source, bool lists_candidates) {
  QueryPlan plan{.query = query, .rules = RuleLog(engine.rules_of(query)), .lists_candidates = lists_candidates};
  plan_units(plan, source);
  const double passing = rows_passing(plan.query, source, plan.units);
  plan_columns(engine, plan, source, passing);
  plan.otherwise = division_of_all(engine, plan, source);
  if (may_answer_units(engine, plan, source, passing)) {
    plan.division = Division::units;
    plan.reason = "units may leave far fewer rows than they have";
    plan.rules.applied(Rule::by_units, plan.reason);
  } else if (plan.otherwise == Division::memory) {
    divide_by_memory(plan, engine.memory->limit());
  } else if (may_have_few_groups(engine, plan, source)) {
    plan.division = Division::few_groups;
    plan.coded = coded_column(query, source);
    plan.reason = plan.coded ? "rows are grouped by codes of " + names_of(source, {*plan.coded}) + " as they are read"
                             : "partial answers, as groups are few";
    plan.rules.applied(Rule::by_units, words_of_units(plan.units.size()) + ": " + plan.reason);
  }
  return plan;
}

QueryPlan plan_otherwise(const EngineState& engine, const QueryPlan& plan, const std::string& why) {
  QueryPlan other = plan;
  other.rules.left_out(Rule::by_units, "did not help: " + why);
  other.division = Division::whole;
  if (plan.otherwise == Division::memory) divide_by_memory(other, engine.memory->limit());
  return other;
}

QueryPlan plan_all_rows(const EngineState& engine, const QueryPlan& plan, const Source& source,
                        const std::string& why) {
  QueryPlan all{.query = plan.query, .rules = plan.rules, .lists_candidates = plan.lists_candidates};
  all.columns = query::columns_read(plan.query);
  all.units = all_units(source);
  for (const Rule rule : kRulesOfSources) {
    if (all.rules.rules().has(rule)) all.rules.left_out(rule, "did not help: " + why);
  }
  if (division_of_all(engine, all, source) == Division::memory) divide_by_memory(all, engine.memory->limit());
  return all;
}

std::optional<QueryPlan> smaller_plan(const EngineState& engine, const QueryPlan& plan) {
  constexpr std::size_t kStep = 4;
  constexpr std::size_t kMinRoom = std::size_t{1} << 20;
  if (!may_use_parts(plan) || plan.room == 0) return std::nullopt;
  const bool is_first = plan.division != Division::memory;
  QueryPlan smaller = plan;
  divide_by_memory(smaller, is_first ? engine.memory->limit() : plan.room < kMinRoom ? 0 : plan.room / kStep);
  return smaller;
}

std::vector<std::size_t> units_to_read(const BoundQuery& query, const Source& source) {
  if (!query.condition) return all_units(source);
  return UnitPruner(source).units_with(*query.condition).units;
}

std::string words_of_units(std::size_t units) { return std::to_string(units) + (units == 1 ? " unit" : " units"); }

std::vector<RuleOutcome> source_outcomes(const RuleLog& rules) {
  std::vector<RuleOutcome> outcomes = rules.outcomes();
  std::erase_if(outcomes, [](const RuleOutcome& outcome) {
    return std::ranges::none_of(kRulesOfSources, [&](Rule rule) { return outcome.rule == name_of(rule); });
  });
  return outcomes;
}

std::string names_of(const Source& source, const std::vector<int>& columns) {
  return query::join(columns, [&](int column) { return source.schema().column(column).name(); });
}

}  // namespace skyrank::exec
