#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <skyrank/error.hpp>

#include "engine/device/resident.hpp"
#include "engine/device/row_set.hpp"
#include "engine/expression/evaluate.hpp"
#include "engine/expression/patterns.hpp"
#include "engine/keys/preference_plan.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/operators/partition/partition.hpp"
#include "engine/operators/rank/rank.hpp"
#include "engine/operators/rank/rank_plan.hpp"
#include "engine/operators/skyline/skyline.hpp"
#include "engine/operators/window.hpp"
#include "engine/plan/estimate.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/plan/rules/rewrites.hpp"
#include "engine/runtime/table_sample_cache.hpp"
#include "planner/sampling.hpp"

// Samples a table before paths are priced: how many rows pass and how many groups there are, and statistics of keys.
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
                        const planner::Machine& machine, const Ir* condition) {
  const auto rows = static_cast<double>(table.num_rows());
  const double guessed_share = condition != nullptr ? guess_selectivity(*condition) : 1;
  const auto n = static_cast<std::size_t>(guessed_share * rows);
  if (preference) return planner::worthwhile_sample(shape_of_sampled(*preference, n), machine);
  const auto k = static_cast<std::size_t>(window_of(query).end(static_cast<std::int64_t>(n)));
  const double filter = condition != nullptr ? rows * evaluation_seconds(*condition) / machine.threads : 0;
  return planner::worthwhile_sample(kernels::TopKShape{.n = n, .k = k, .widths = {kernels::KeyWidth::bytes4}}, machine,
                                    filter);
}

/// Rows of a sample that tells how many groups there are, or rows that pass: a row of it costs about as much as ten
/// that are grouped or filtered, and it may cost a fiftieth of all.
std::size_t counting_sample_size(const Table& table) {
  constexpr std::int64_t kMinRows = 64;
  constexpr std::int64_t kMaxRows = 1 << 16;
  constexpr std::int64_t kRowsForOne = 500;
  const std::int64_t size = std::min(kMaxRows, table.num_rows() / kRowsForOne);
  return size < kMinRows ? 0 : static_cast<std::size_t>(size);
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

/// Rows of a table that are looked at.
struct Sampled {
  Table table;
  RowSet drawn;
  RowSet rows;  ///< drawn rows that pass the condition
};

/// Returns the keys of a ranking, whose columns `made` keeps.
kernels::TopKProblem ranking_of(const std::vector<query::BoundRankTerm>& terms, const Table& table, const RowSet& rows,
                                std::vector<Keys>& made, std::vector<kernels::KeyColumn>& columns) {
  made = make_rank_keys(terms, table, rows);
  for (const Keys& column : made) columns.push_back(column.column);
  return {.n = static_cast<std::size_t>(rows.size()), .keys = columns};
}

planner::Statistics look_at_ranking(const BoundQuery& query, const Sampled& sampled, std::size_t n) {
  std::vector<Keys> made;
  std::vector<kernels::KeyColumn> columns;
  kernels::TopKProblem passing = ranking_of(query.ranking, sampled.table, sampled.rows, made, columns);
  passing.k = static_cast<std::size_t>(window_of(query).end(static_cast<std::int64_t>(n)));
  planner::Statistics ranking = planner::describe_ranking(passing, n, passing.k);
  const query::BoundRankTerm& first = query.ranking.front();
  if (!query.condition || !never_fails(first.expression)) return ranking;
  std::vector<Keys> made_of_all;
  std::vector<kernels::KeyColumn> columns_of_all;
  ranking.ahead =
      planner::share_ahead(passing, n, ranking_of({first}, sampled.table, sampled.drawn, made_of_all, columns_of_all));
  return ranking;
}

SampledGroups count_sizes(const Segments& groups, std::int64_t rows) {
  SampledGroups sizes{.rows = static_cast<double>(rows), .distinct = static_cast<double>(groups.count())};
  for (std::int64_t s = 0; s < groups.count(); ++s) {
    sizes.once += groups.size(s) == 1 ? 1 : 0;
    sizes.twice += groups.size(s) == 2 ? 1 : 0;
    sizes.thrice += groups.size(s) == 3 ? 1 : 0;
  }
  return sizes;
}

/// How often neighbours in the table, of which a sample has runs, are of one group.
struct Neighbours {
  double pairs = 0;
  double equal = 0;      ///< pairs of one group
  double by_chance = 0;  ///< share of any two rows of the sample that are of one group
  Vector<RowId> firsts;  ///< the first row of each run

  /// Returns true if rows of a group lie together, so that a run says hardly more than one of its rows.
  bool lie_together() const {
    constexpr double kDoubt = 8;
    return equal > 2 * by_chance * pairs + kDoubt;
  }
};

Neighbours look_at_neighbours(const Segments& groups, const Rows& rows) {
  Neighbours found;
  const auto follows = [&](std::int64_t position) { return position > 0 && rows[position] == rows[position - 1] + 1; };
  for (std::int64_t i = 0; i < rows.n; ++i) {
    if (follows(i)) {
      ++found.pairs;
    } else {
      found.firsts.push_back(rows[i]);
    }
  }
  double together = 0;
  for (std::int64_t s = 0; s < groups.count(); ++s) {
    together += static_cast<double>(groups.size(s)) * static_cast<double>(groups.size(s) - 1);
    for (std::int64_t i = groups.bounds[s] + 1; i < groups.bounds[s + 1]; ++i) {
      found.equal += groups.at(i) == groups.at(i - 1) + 1 && follows(groups.at(i)) ? 1 : 0;
    }
  }
  const auto size = static_cast<double>(rows.n);
  found.by_chance = together / std::max(size * (size - 1), 1.0);
  return found;
}

/// Estimates the groups among n rows from a list of some of them. Where rows of a group lie together there are no more
/// groups than runs of equal rows.
planner::Cardinality count_groups(const std::vector<int>& columns, const Table& table, const RowSet& rows,
                                  const planner::Cardinality& n) {
  const Segments groups = partition(table, columns, rows.view());
  if (rows.is_all()) return bounded_groups(n, count_sizes(groups, rows.size()));
  Neighbours neighbours = look_at_neighbours(groups, rows.view());
  if (!neighbours.lie_together()) return bounded_groups(n, count_sizes(groups, rows.size()));
  const double changes = neighbours.pairs - neighbours.equal;
  const auto runs = [&](double deviations) {
    return (changes + deviations * std::sqrt(changes) + 1) / neighbours.pairs;
  };
  const RowSet firsts = RowSet::listed(std::move(neighbours.firsts));
  const SampledGroups apart = count_sizes(partition(table, columns, firsts.view()), firsts.size());
  const planner::Cardinality most{runs(1) * n.low, runs(1) * n.expected, runs(3) * n.high};
  planner::Cardinality found = min(bounded_groups(n, apart), most);
  if (apart.distinct == apart.rows)
    found.expected = most.expected;  // rows in the order of their groups have one run each
  return planner::Cardinality::around(static_cast<double>(groups.count()), found.expected, found.high);
}

/// Columns whose values statistics are made of.
std::vector<int> columns_looked_at(const BoundQuery& query) {
  std::vector<int> columns = columns_of_keys(query);
  columns.insert(columns.end(), grouping_columns(query).begin(), grouping_columns(query).end());
  return columns;
}

/// Draws about `size` rows; columns that only a GPU has come from there.
Sampled draw(const BoundQuery& query, const Table& table, std::size_t size) {
  const std::vector<RowId> rows = planner::sample_rows(static_cast<std::size_t>(table.num_rows()), size);
  const std::vector<int> columns = columns_looked_at(query);
  if (any_device_only(table, columns)) {
    Table sampled = gather_read(table, columns, rows);
    const RowSet all = RowSet::all(sampled.num_rows());
    return {std::move(sampled), all, all};
  }
  const RowSet drawn = RowSet::listed({rows.begin(), rows.end()});
  return {table, drawn, drawn};
}

/// Returns how many rows drawn one by one would tell as much of the share that passes as rows drawn in runs of
/// neighbours: fewer where neighbours pass together (Kish, "Survey Sampling", 1965, section 5.4).
double independent_rows(const Rows& drawn, const Rows& passing, double share) {
  double pairs = 0;
  double both = 0;  // neighbours that both pass
  for (std::int64_t i = 1, p = 0; i < drawn.n; ++i) {
    while (p < passing.n && passing[p] < drawn[i - 1]) ++p;
    if (drawn[i] != drawn[i - 1] + 1) continue;
    ++pairs;
    both += p + 1 < passing.n && passing[p] == drawn[i - 1] && passing[p + 1] == drawn[i] ? 1 : 0;
  }
  const auto size = static_cast<double>(drawn.n);
  const double variance = share * (1 - share);
  if (pairs == 0 || variance <= 0) return size;
  const double correlation = std::clamp((both / pairs - share * share) / variance, 0.0, 1.0);
  const double run = size / std::max(size - pairs, 1.0);
  return size / (1 + (run - 1) * correlation);
}

/// Leaves the rows that pass the condition, and says which share they are.
void look_at_condition(const BoundQuery& query, Sampled& sampled, TableSample& sample) {
  sample.rows = static_cast<std::size_t>(sampled.rows.size());
  if (!query.condition) return;
  const auto size = static_cast<double>(sampled.rows.size());
  const RowSet drawn = std::move(sampled.rows);
  sampled.rows = RowSet::listed(filter(*query.condition, sampled.table, drawn.view()));
  // With none at all, half a row of the sample is as good a guess as any.
  sample.selectivity = std::max(static_cast<double>(sampled.rows.size()), 0.5) / size;
  sample.independent = independent_rows(drawn.view(), sampled.rows.view(), *sample.selectivity);
}

/// Looks at `size` rows for the groups or, without `group_by`, the partitions.
void look_at_groups(const BoundQuery& query, const Table& table, std::size_t size, TableSample& sample) {
  const std::vector<int>& columns = grouping_columns(query);
  if (columns.empty() || size == 0) return;
  Sampled sampled = draw(query, table, size);
  look_at_condition(query, sampled, sample);
  if (sampled.rows.size() < 2) return;
  const planner::Cardinality n = sample.passing(static_cast<double>(table.num_rows()));
  sample.groups = count_groups(columns, sampled.table, sampled.rows, n);
  sample.far_apart =
      choose_numbering(sampled.table, columns, sampled.rows.view(), table.num_rows()) == Numbering::by_hashing;
}

/// Returns at most `most` of the rows, evenly.
RowSet thinned(const RowSet& rows, std::size_t most) {
  const auto size = static_cast<std::size_t>(rows.size());
  if (size <= most) return rows;
  const Rows all = rows.view();
  Vector<RowId> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(all[static_cast<std::int64_t>(i * size / most)]);
  return RowSet::listed(std::move(chosen));
}

/// Looks at up to `size` rows for the preference or the ranking, of about `drawn` rows before the condition.
TableSample look_at_order(const BoundQuery& query, const std::optional<PreferencePlan>& preference, const Table& table,
                          std::size_t size, std::size_t drawn) {
  TableSample sample;
  Sampled sampled = draw(query, table, query.condition ? std::max(drawn, counting_sample_size(table)) : size);
  look_at_condition(query, sampled, sample);
  if (sampled.rows.size() < 2) return sample;
  sampled.rows = thinned(sampled.rows, size);
  const auto n = static_cast<std::size_t>(static_cast<double>(table.num_rows()) * sample.selectivity.value_or(1));
  if (preference) {
    sample.preference = look_at_preference(*preference, sampled.table, sampled.rows, n);
    sample.preference.selectivity = sample.selectivity.value_or(1);
  } else if (!query.ranking.empty()) {
    sample.ranking = look_at_ranking(query, sampled, n);
    sample.ranking.selectivity = sample.selectivity.value_or(1);
  }
  return sample;
}

/// Returns the size of a larger sample that pays off by what the smaller one says of the preference, or 0.
std::size_t larger_sample(const std::optional<PreferencePlan>& preference, const TableSample& seen, const Table& table,
                          const planner::Machine& machine) {
  if (!preference || seen.preference.sample == 0) return 0;
  const double rows = static_cast<double>(table.num_rows()) * seen.selectivity.value_or(1);
  const auto shape = shape_of_sampled(*preference, static_cast<std::size_t>(rows));
  return planner::worthwhile_sample(shape, machine, seen.preference);
}

/// Looks at as many rows as pay off; at none of small inputs.
TableSample look(const BoundQuery& query, const std::optional<PreferencePlan>& preference, const Table& table,
                 const planner::Machine& machine, const Ir* condition) {
  TableSample seen;
  std::size_t size = query.group ? 0 : sample_size(query, preference, table, machine, condition);
  std::size_t drawn = size;
  if (size > 0) seen = look_at_order(query, preference, table, size, drawn);
  while (const std::size_t more = larger_sample(preference, seen, table, machine)) {
    // A condition leaves fewer rows than are drawn.
    const auto before = static_cast<std::size_t>(static_cast<double>(more) / seen.selectivity.value_or(1));
    if (more <= size && before <= drawn) break;
    size = std::max(size, more);
    drawn = std::max(drawn, before);
    seen = look_at_order(query, preference, table, size, drawn);
  }
  if (query.group || size > 0) look_at_groups(query, table, std::max(size, counting_sample_size(table)), seen);
  return seen;
}

/// Returns the statistics of a sample, or those that the table keeps of an earlier one. For queries with `group_by`,
/// whose later stages work on another table, it samples only the condition and the groups. The result is empty for
/// small inputs, and if an expression fails on a sampled row, which the run will report. `condition` is the query's, as
/// costs read it, or null.
TableSample sample_table(const BoundQuery& query, const std::optional<PreferencePlan>& preference, const Table& table,
                         const planner::Machine& machine, const Ir* condition) {
  if (!query.group && !preference && query.ranking.empty() && !query.condition) return {};
  TableSampleCache* cache = KeptAccess::samples(table);
  const std::string name = name_of(query, preference);
  if (cache != nullptr) {
    if (const std::optional<TableSample> known = cache->find(name)) return *known;
  }
  TableSample seen;
  try {
    seen = look(query, preference, table, machine, condition);
  } catch (const DataError&) {
    seen = {};
  }
  if (cache != nullptr && seen.rows > 0) cache->keep(name, seen);
  return seen;
}

}  // namespace

void look_at_sample(PhysicalPlan& plan, const Table& table) {
  if (!plan.rules.rules().has(Rule::statistics)) return;
  plan.sample = sample_table(plan.query, plan.preference, table, plan.machine, plan.condition.get());
  if (plan.sample.rows > 0) {
    plan.rules.applied(Rule::statistics,
                       std::to_string(plan.sample.rows) + " of " + std::to_string(table.num_rows()) + " rows");
  } else {
    plan.rules.left_out(Rule::statistics, "the query is too short for a sample to pay off");
  }
}

}  // namespace skyrank::exec
