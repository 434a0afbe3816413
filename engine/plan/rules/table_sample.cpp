#include "engine/plan/rules/table_sample.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <skyrank/error.hpp>

#include "engine/device/resident.hpp"
#include "engine/device/row_set.hpp"
#include "engine/expression/evaluate.hpp"
#include "engine/keys/preference_plan.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/operators/partition/partition.hpp"
#include "engine/operators/rank/rank.hpp"
#include "engine/operators/rank/rank_plan.hpp"
#include "engine/operators/skyline/skyline.hpp"
#include "engine/operators/window.hpp"
#include "engine/plan/estimate.hpp"
#include "engine/runtime/table_sample_cache.hpp"
#include "planner/sampling.hpp"

namespace skyrank::exec {
namespace {

using query::BoundQuery;

/// Columns of the table whose values make the groups or, without `group_by`, the partitions.
const std::vector<int>& grouping_columns(const BoundQuery& query) {
  return query.group ? query.group->columns : query.partition_columns;
}

/// Returns a text that names the subject of the statistics.
std::string name_of(const BoundQuery& query, const std::optional<PreferencePlan>& preference) {
  std::string name = query.condition ? query.condition->text : "";
  if (preference) name += "\nprefer " + describe(*preference, preference->steps.front());
  for (const query::BoundRankTerm& term : query.ranking)
    name += (term.nulls_first ? "\nNULL" : "") + std::string(term.high ? "\nhigh " : "\nlow ") + term.expression.text;
  name += query.group ? "\ngroup" : "\npartition";
  for (const int column : grouping_columns(query)) name += " " + std::to_string(column);
  return name + "\nlimit " + std::to_string(window_of(query).end(1LL << 62));
}

kernels::SkylineShape shape_of_sampled(const PreferencePlan& preference, std::size_t n) {
  return shape_of(preference.steps.front(), kernels::KeyWidth::bytes4, static_cast<std::int64_t>(n));
}

/// Rows of the first sample that is worth its time, for the larger of the two problems that may be solved.
std::size_t sample_size(const BoundQuery& query, const std::optional<PreferencePlan>& preference, const Table& table,
                        const planner::Machine& machine, double guessed_share) {
  const auto rows = static_cast<double>(table.num_rows());
  if (query.group) {  // a row of a sample costs about as much as ten that are grouped
    constexpr std::int64_t kMaxRows = 1024;
    constexpr std::int64_t kRowsForOne = 1000;
    const std::int64_t size = std::min(kMaxRows, table.num_rows() / kRowsForOne);
    return size < 64 ? 0 : static_cast<std::size_t>(size);
  }
  const auto n = static_cast<std::size_t>(guessed_share * rows);
  if (preference) return planner::worthwhile_sample(shape_of_sampled(*preference, n), machine);
  const auto k = static_cast<std::size_t>(window_of(query).end(static_cast<std::int64_t>(n)));
  return planner::worthwhile_sample(kernels::TopKShape{.n = n, .k = k, .widths = {kernels::KeyWidth::bytes4}}, machine);
}

planner::Statistics look_at_preference(const PreferencePlan& plan, const Table& table, const RowSet& rows,
                                       std::size_t n) {
  PreferencePlan first{plan.terms, {plan.steps.front()}};
  const SkylineKeys keys = make_skyline_keys(first, table, rows, nullptr);
  std::vector<kernels::KeyColumn> columns;
  for (const Keys& column : keys.steps.front().columns) columns.push_back(column.column);
  return planner::describe_preference(
      {.n = static_cast<std::size_t>(keys.n), .keys = columns, .order = first.steps.front().order}, n);
}

planner::Statistics look_at_ranking(const BoundQuery& query, const Table& table, const RowSet& rows, std::size_t n) {
  const std::vector<Keys> keys = make_rank_keys(query.ranking, table, rows);
  std::vector<kernels::KeyColumn> columns;
  for (const Keys& column : keys) columns.push_back(column.column);
  const auto k = static_cast<std::size_t>(window_of(query).end(static_cast<std::int64_t>(n)));
  return planner::describe_ranking({.n = static_cast<std::size_t>(rows.size()), .keys = columns, .k = k}, n, k);
}

double count_groups(const std::vector<int>& columns, const Table& table, const RowSet& rows, std::size_t n) {
  const Segments groups = partition(table, columns, rows.view());
  double once = 0;
  double twice = 0;
  for (std::int64_t s = 0; s < groups.count(); ++s) {
    once += groups.size(s) == 1 ? 1 : 0;
    twice += groups.size(s) == 2 ? 1 : 0;
  }
  return estimate_groups(static_cast<double>(n), static_cast<double>(groups.count()), once, twice);
}

/// Columns whose values statistics are made of.
std::vector<int> columns_looked_at(const BoundQuery& query) {
  std::vector<int> columns = columns_of_keys(query);
  columns.insert(columns.end(), grouping_columns(query).begin(), grouping_columns(query).end());
  return columns;
}

/// Looks at the rows of a sample, which are rows of `table`, out of `total`.
TableSample look(const BoundQuery& query, const std::optional<PreferencePlan>& preference, const Table& table,
                 RowSet rows, std::size_t total) {
  TableSample sample;
  sample.rows = static_cast<std::size_t>(rows.size());
  if (query.condition) {
    const auto sampled = static_cast<double>(rows.size());
    rows = RowSet::listed(filter(*query.condition, table, rows.view()));
    // With none at all, half a row of the sample is as good a guess as any.
    sample.selectivity = std::max(static_cast<double>(rows.size()), 0.5) / sampled;
  }
  const auto n = static_cast<std::size_t>(static_cast<double>(total) * sample.selectivity.value_or(1));
  if (rows.size() < 2) return sample;
  if (const std::vector<int>& columns = grouping_columns(query); !columns.empty()) {
    sample.groups = count_groups(columns, table, rows, n);
    sample.far_apart =
        choose_numbering(table, columns, rows.view(), static_cast<std::int64_t>(total)) == Numbering::by_hashing;
  }
  if (query.group) return sample;
  if (preference) {
    sample.preference = look_at_preference(*preference, table, rows, n);
  } else if (!query.ranking.empty()) {
    sample.ranking = look_at_ranking(query, table, rows, n);
    sample.ranking.selectivity = sample.selectivity.value_or(1);
  }
  return sample;
}

TableSample look(const BoundQuery& query, const std::optional<PreferencePlan>& preference, const Table& table,
                 std::size_t size) {
  const auto total = static_cast<std::size_t>(table.num_rows());
  const std::vector<RowId> rows = planner::sample_rows(total, size);
  const std::vector<int> columns = columns_looked_at(query);
  if (any_device_only(table, columns)) {
    const Table sampled = gather_read(table, columns, rows);
    return look(query, preference, sampled, RowSet::all(sampled.num_rows()), total);
  }
  return look(query, preference, table, RowSet::listed({rows.begin(), rows.end()}), total);
}

/// Returns the size of a larger sample that pays off by what the smaller one says of the preference, or 0.
std::size_t larger_sample(const std::optional<PreferencePlan>& preference, const TableSample& seen, const Table& table,
                          const planner::Machine& machine) {
  if (!preference || seen.preference.sample == 0) return 0;
  const double rows = static_cast<double>(table.num_rows()) * seen.selectivity.value_or(1);
  const auto shape = shape_of_sampled(*preference, static_cast<std::size_t>(rows));
  return planner::worthwhile_sample(shape, machine, seen.preference);
}

/// Returns the statistics of a sample, or those that the table keeps of an earlier one. For queries with `group_by`,
/// whose later stages work on another table, it samples only the condition and the groups. The result is empty for
/// small inputs, and if an expression fails on a sampled row, which the run will report. `guessed_share` is the
/// selectivity of the condition before it is sampled.
TableSample sample_table(const BoundQuery& query, const std::optional<PreferencePlan>& preference, const Table& table,
                         const planner::Machine& machine, double guessed_share) {
  if (!query.group && !preference && query.ranking.empty() && !query.condition) return {};
  std::size_t size = sample_size(query, preference, table, machine, guessed_share);
  if (size == 0) return {};
  TableSampleCache* cache = KeptAccess::samples(table);
  const std::string name = name_of(query, preference);
  if (cache != nullptr) {
    if (const std::optional<TableSample> known = cache->find(name)) return *known;
  }
  TableSample seen;
  try {
    seen = look(query, preference, table, size);
    // A condition leaves fewer rows than were drawn, so that what is worth its time may be what was drawn already.
    std::size_t more = larger_sample(preference, seen, table, machine);
    while (more > size) {
      seen = look(query, preference, table, more);
      size = more;
      more = larger_sample(preference, seen, table, machine);
    }
  } catch (const DataError&) {
    seen = {};
  }
  if (cache != nullptr) cache->keep(name, seen);
  return seen;
}

}  // namespace

void look_at_sample(PhysicalPlan& plan, const Table& table) {
  if (!plan.rules.rules().has(Rule::statistics)) return;
  const double share = plan.condition ? guess_selectivity(*plan.condition) : 1;
  plan.sample = sample_table(plan.query, plan.preference, table, plan.machine, share);
  if (plan.sample.rows > 0) {
    plan.rules.applied(Rule::statistics,
                       std::to_string(plan.sample.rows) + " of " + std::to_string(table.num_rows()) + " rows");
  } else {
    plan.rules.left_out(Rule::statistics, "the query is too short for a sample to pay off");
  }
}

}  // namespace skyrank::exec
