#include "engine/parts/sources/run_source.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/executor/limits.hpp"
#include "engine/executor/run_whole.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/parts/gpus/by_gpus.hpp"
#include "engine/parts/memory/parts_memory.hpp"
#include "engine/parts/memory/source_memory.hpp"
#include "engine/parts/sources/by_parts.hpp"
#include "engine/parts/sources/by_units.hpp"
#include "engine/parts/sources/plan_source.hpp"
#include "engine/parts/states/candidates.hpp"
#include "engine/parts/states/parts_record.hpp"
#include "engine/row_error.hpp"
#include "engine/runtime/stopwatch.hpp"

namespace skyrank::exec {
namespace {

using query::BoundOutput;
using query::BoundQuery;

/// A plan that runs, and what it has read so far.
struct SourceExecution {
  const EngineState& engine;
  const Source& source;
  const RunOptions& options;  ///< without a time limit of their own
  Limits& limits;             ///< limits of the whole query
  SourcePlan plan;
  double read_ms = 0;
  std::uint64_t bytes = 0;
  std::size_t skipped = 0;  ///< units, by what is known of the answer
  std::optional<std::uint64_t> spilled_bytes = {};
  std::optional<std::int64_t> late_rows = {};

  const BoundQuery& query() const { return plan.query; }

  /// Returns how parts of a query run, of which a record is kept.
  StateSteps recorded(const BoundQuery& query, PartsRecord& record) const {
    return {.engine = engine, .query = query, .options = options, .run = run_table, .record = &record};
  }
};

/// Row ids of a table that has the rows of some units, as ids of the source.
class SourceIds {
 public:
  SourceIds(const Source& source, const std::vector<std::size_t>& units) {
    std::int64_t first = 0;
    std::int64_t here = 0;
    std::size_t next = 0;
    for (std::size_t unit = 0; unit < source.units().size(); ++unit) {
      const std::int64_t rows = source.units()[unit].rows;
      if (next < units.size() && units[next] == unit) {
        ends_.push_back(here += rows);
        shifts_.push_back(first + rows - here);
        ++next;
      }
      first += rows;
    }
  }

  std::vector<RowId> of(const std::vector<RowId>& rows) const {
    std::vector<RowId> ids;
    ids.reserve(rows.size());
    for (const RowId row : rows) {
      const auto unit = std::ranges::upper_bound(ends_, row) - ends_.begin();
      ids.push_back(row + shifts_[static_cast<std::size_t>(unit)]);
    }
    return ids;
  }

 private:
  std::vector<std::int64_t> ends_;    // of the units' rows in the table
  std::vector<std::int64_t> shifts_;  // from a row of the table to that of the source
};

/// The rows of an answer with all columns that its outputs read, ascending.
struct AnswerRows {
  Table table;
  std::vector<RowId> places;                ///< per row of the answer: its row in `table`
  std::optional<SourceCharge> charge = {};  ///< for what was read
};

/// The same ids, ascending, and where each went.
std::pair<std::vector<RowId>, std::vector<RowId>> ascending(const std::vector<RowId>& rows) {
  std::vector<RowId> sorted = rows;
  std::ranges::sort(sorted);
  std::vector<RowId> places;
  places.reserve(rows.size());
  for (const RowId row : rows) places.push_back(std::ranges::lower_bound(sorted, row) - sorted.begin());
  return {std::move(sorted), std::move(places)};
}

/// Makes the columns that the answer alone shows, for its rows `ids` of the source, which are `rows` of `input`.
AnswerRows answer_rows(SourceExecution& run, const Table& input, const std::vector<RowId>& rows,
                       const std::vector<RowId>& ids) {
  const auto [sorted_rows, places] = ascending(rows);
  const auto [sorted_ids, unused] = ascending(ids);
  SourceCharge charge(run.engine, run.query().location,
                      ColumnSizes(run.source, run.plan.late).of_rows(static_cast<std::int64_t>(rows.size())));
  SourceRows late = run.source.read_rows(sorted_ids, run.plan.late);
  charge.finish_reading();
  run.bytes += late.bytes;
  std::vector<Column> columns = late.table.columns();
  for (const int column : run.plan.columns) {
    columns[static_cast<std::size_t>(column)] = gather(input.column(column), sorted_rows, input.column(column).name());
  }
  run.late_rows = static_cast<std::int64_t>(rows.size());
  return {Table(std::move(columns)), places, std::move(charge)};
}

/// Makes the columns of the answer. `ids` are the rows of `input` in the source; null: it has the plan's units.
void finish(SourceExecution& run, const Table& input, const std::vector<RowId>* ids, Result& result) {
  const std::vector<RowId> rows = std::move(result.rows);
  if (ids == nullptr) {
    result.rows = SourceIds(run.source, run.plan.units).of(rows);
  } else {
    result.rows.clear();
    for (const RowId row : rows) result.rows.push_back((*ids)[static_cast<std::size_t>(row)]);
  }
  AnswerRows answer;
  if (!run.plan.late.empty()) answer = answer_rows(run, input, rows, result.rows);
  std::vector<Column> columns;
  for (std::size_t i = 0; i < run.query().outputs.size(); ++i) {
    const BoundOutput& output = run.query().outputs[i];
    if (output.kind == BoundOutput::Kind::row) {
      columns.push_back(row_column(result.rows, output.name));
    } else if (run.plan.late.empty()) {
      columns.push_back(result.table.column(static_cast<int>(i)));
    } else if (output.kind == BoundOutput::Kind::level) {
      columns.push_back(Column::own(output.name, std::vector<std::int32_t>(result.levels)));
    } else {
      columns.push_back(gather(output.expression, answer.table, answer.places, output.name));
    }
  }
  result.table = Table(std::move(columns));
}

std::string names_of(const Source& source, const std::vector<int>& columns) {
  std::string names;
  for (const int column : columns) names += (names.empty() ? "" : ", ") + source.schema().column(column).name();
  return names;
}

/// Says in a plan what was read and what was not.
void describe_reading(const SourceExecution& run, PlanNode& tree) {
  PlanNode* scan = &tree;
  while (!scan->children.empty()) scan = &scan->children.front();
  const std::string all = names_of(run.source, query::columns_read(run.query()));
  scan->detail = run.query().from + (all.empty() ? "" : ": " + all);
  const auto units = static_cast<double>(run.source.units().size());
  scan->statistics = {{"units", units},
                      {"units skipped", units - static_cast<double>(run.plan.units.size() - run.skipped)},
                      {"bytes", static_cast<double>(run.source.bytes())},
                      {"bytes read", static_cast<double>(run.bytes)}};
  if (run.spilled_bytes) scan->statistics.emplace_back("bytes spilled", static_cast<double>(*run.spilled_bytes));
  RuleLog rules = run.plan.rules;
  if (!run.plan.late.empty()) {
    const std::string rows =
        run.late_rows ? " read for " + std::to_string(*run.late_rows) + (*run.late_rows == 1 ? " row" : " rows")
                      : " to be read for the rows of the answer";
    rules.applied(Rule::late_columns, names_of(run.source, run.plan.late) + rows);
  }
  for (const RuleOutcome& outcome : rules.outcomes()) {
    const auto entry = std::ranges::find(tree.rules, outcome.rule, &RuleOutcome::rule);
    if (is_rule_of_sources(outcome.rule) && entry != tree.rules.end()) *entry = outcome;
  }
}

std::string words_of_units(std::size_t units) { return std::to_string(units) + (units == 1 ? " unit" : " units"); }

/// Hangs what was done with each part below the plan of what follows them.
void attach(const PartsRecord& record, PlanNode& tree) {
  attach_parts(tree, record.node(words_of_units(record.count()) + ", some read while others are answered"));
}

/// Returns the query that finds the rows of the answer. Where columns are read late, the outputs are made of them.
BoundQuery selection(const SourcePlan& plan) {
  BoundQuery selected = plan.query;
  if (!plan.late.empty()) selected.outputs = {{.name = "row", .kind = BoundOutput::Kind::row, .expression = {}}};
  return selected;
}

/// Answers the query over rows of the source that are in memory; `ids` as for `finish`.
Result answer_table(SourceExecution& run, const Table& input, const std::vector<RowId>* ids) {
  Result result = run_table(run.engine, selection(run.plan), input, run.options);
  Stopwatch watch;
  run.engine.on_threads(run.options.stop, [&] { finish(run, input, ids, result); });
  const double ms = watch.lap();
  result.timing.gather_ms += ms;
  result.timing.total_ms += ms;
  result.timing.read_ms = run.read_ms;
  if (!run.plan.late.empty()) {
    result.plan.detail.clear();
    for (const BoundOutput& output : run.query().outputs) {
      result.plan.detail += (result.plan.detail.empty() ? "" : ", ") + output.name;
    }
  }
  return result;
}

/// Reads columns of units, which count as memory as long as `charge` lives.
Table read(SourceExecution& run, const std::vector<std::size_t>& units, std::optional<SourceCharge>& charge) {
  Stopwatch watch;
  run.limits.phase = "reading the table";
  charge.emplace(run.engine, run.query().location, ColumnSizes(run.source, run.plan.columns).of_units(units));
  SourceRows read = run.source.read(units, run.plan.columns);
  charge->finish_reading();
  run.read_ms += watch.lap();
  run.bytes += read.bytes;
  return std::move(read.table);
}

Result answer_whole(SourceExecution& run) {
  std::optional<SourceCharge> charge;
  const Table input = read(run, run.plan.units, charge);
  return answer_table(run, input, nullptr);
}

/// Returns nothing where the units leave too many rows.
std::optional<Result> answer_units(SourceExecution& run) {
  PartsRecord record;
  const UnitsQuery units{run.recorded(selection(run.plan), record), run.plan.columns, run.plan.units};
  Stopwatch watch;
  run.limits.phase = "answering units of the table";
  const std::optional<UnitRows> left = rows_by_units(units, run.source);
  run.read_ms += watch.lap();
  if (!left) {
    run.plan.rules.left_out(Rule::by_units, "did not help: the units leave too many rows");
    return std::nullopt;
  }
  std::string outcome = std::to_string(left->rows.size()) + " rows left by " +
                        std::to_string(run.plan.units.size() - left->skipped) + " units, " +
                        std::to_string(left->skipped) + " skipped";
  if (left->dominated > 0) outcome += "; known rows dominate " + std::to_string(left->dominated);
  run.plan.rules.applied(Rule::by_units, outcome);
  run.bytes += left->bytes;
  run.skipped = left->skipped;
  Result result = answer_table(run, left->table, &left->rows);
  result.work += left->work;
  attach(record, result.plan);
  return result;
}

/// Returns the result of an answer by parts, with what was read for it and what was done with each.
Result result_of_parts(SourceExecution& run, PartsAnswer answer, const PartsRecord& record) {
  run.bytes += answer.bytes;
  if (answer.spilled) run.spilled_bytes = answer.spilled->bytes;
  answer.result.timing.read_ms = run.read_ms + answer.read_ms;
  attach(record, answer.result.plan);
  return std::move(answer.result);
}

/// Returns nothing where the first units have many groups.
std::optional<Result> answer_few_groups(SourceExecution& run) {
  const SourcePlan& plan = run.plan;
  PartsRecord record;
  run.limits.phase = "answering units of the table";
  auto answer = answer_of_few_groups(run.recorded(plan.query, record), run.source, plan.columns, plan.units);
  if (!answer) {
    run.plan.rules.left_out(Rule::by_units, "did not help: the first units have many groups");
    return std::nullopt;
  }
  run.plan.rules.applied(Rule::by_units, words_of_units(plan.units.size()) + ": " + kFewGroups);
  return result_of_parts(run, *std::move(answer), record);
}

/// Decides as if the limit of memory were `room` bytes.
Result answer_parts(SourceExecution& run, std::size_t room) {
  SourcePlan& plan = run.plan;
  read_all_columns(plan);
  PartsRecord record;
  run.limits.phase = "answering parts of the table";
  PartsAnswer answer = answer_by_parts(run.recorded(plan.query, record), run.source, plan.columns, plan.units, room);
  std::string outcome = words_of_units(plan.units.size()) + ": " + reason_for_parts(plan.query);
  if (answer.spilled) {
    outcome += "; groups spilled to a temporary file of " + std::to_string(answer.spilled->partitions) + " partitions";
  }
  plan.rules.applied(Rule::by_units, outcome);
  return result_of_parts(run, std::move(answer), record);
}

/// Returns less memory to decide by.
std::size_t less(std::size_t room) {
  constexpr std::size_t kStep = 4;
  constexpr std::size_t kLowest = std::size_t{1} << 20;
  return room < kLowest ? 0 : room / kStep;
}

/// Returns nothing where the guess behind a way turns out wrong.
std::optional<Result> answer_by(SourceExecution& run, SourceWay way) {
  switch (way) {
    case SourceWay::units: return answer_units(run);
    case SourceWay::few_groups: return answer_few_groups(run);
    case SourceWay::parts: return answer_parts(run, run.engine.memory->limit());
    case SourceWay::whole: break;
  }
  return answer_whole(run);
}

/// Answers by parts with ever less memory in mind, from `room` bytes; nothing where the least does not suffice.
std::optional<Result> answer_smaller_parts(SourceExecution& run, std::size_t room) {
  while (true) {
    try {
      return answer_parts(run, room);
    } catch (const ResourceError&) {
      if (room == 0) return std::nullopt;
    }
    room = less(room);
  }
}

/// Runs a plan. Whatever does not fit the limit of memory is answered by parts: what is decided by the limit must not
/// make a query fail that a lower one allows.
Result answer(SourceExecution& run) {
  SourceWay way = run.plan.way;
  try {
    if (auto result = answer_by(run, way)) return *std::move(result);
    way = run.plan.otherwise;
    return answer_by(run, way).value();
  } catch (const ResourceError&) {
    if (!run.plan.may_use_parts()) throw;
    const std::size_t all = run.engine.memory->limit();
    if (auto result = answer_smaller_parts(run, way == SourceWay::parts ? less(all) : all)) return *std::move(result);
    throw;
  }
}

/// Returns the milliseconds that a plan is expected to take.
double predicted_ms(const PlanNode& plan) {
  double ms = plan.predicted_ms;
  for (const PlanNode& child : plan.children) ms += predicted_ms(child);
  return ms;
}

/// Describes the plan of a query that is answered by parts, of which the first unit is read.
PlanNode plan_of_parts(SourceExecution& run) {
  const std::size_t units = run.plan.units.size();
  std::optional<SourceCharge> charge;
  const Table first = read(run, {run.plan.units.front()}, charge);
  const BoundQuery selected = selection(run.plan);
  const BoundQuery part = candidates_query(selected, first.num_rows());
  PlanNode parts;
  parts.op = "parts";
  parts.detail = words_of_units(units) + "; the plan below is that of the first";
  parts.children.push_back(plan_of_part(selected, first, explain_whole(run.engine, part, first, run.options)));
  const PlanNode& of_first = parts.children.front();
  parts.predicted_rows = of_first.predicted_rows * static_cast<double>(units);
  parts.predicted_ms = predicted_ms(of_first) * static_cast<double>(units);
  return plan_of_merge("of the rows that the units leave", std::move(parts));
}

SourceExecution planned(const EngineState& engine, const BoundQuery& query, const Source& source,
                        const RunOptions& options, Limits& limits) {
  SourcePlan plan = engine.on_threads(options.stop, [&] { return plan_source(engine, query, source); });
  return {.engine = engine, .source = source, .options = options, .limits = limits, .plan = std::move(plan)};
}

}  // namespace

Result run_source(const EngineState& engine, const BoundQuery& query, const Source& source, const RunOptions& options) {
  return limited_as_a_whole(query, options, engine.timer, [&](const RunOptions& limited, Limits& limits) {
    SourceExecution run = planned(engine, query, source, limited, limits);
    const auto described = [&] {
      Result result = answer(run);
      describe_reading(run, result.plan);
      return result;
    };
    try {
      return described();
    } catch (const RowFailure& failure) {
      if (!run.plan.leaves_out_rows(source)) throw;
      // Over all rows, the message names the one that fails first, or there is no error.
      run.plan = plan_all_rows(engine, run.plan, source, failure.what());
    }
    return described();
  });
}

PlanNode explain_source(const EngineState& engine, const BoundQuery& query, const Source& source,
                        const RunOptions& options) {
  return limited_as_a_whole(query, options, engine.timer, [&](const RunOptions& limited, Limits& limits) {
    SourceExecution run = planned(engine, query, source, limited, limits);
    PlanNode tree;
    if (run.plan.way == SourceWay::whole) {
      std::optional<SourceCharge> charge;
      tree = explain_table(engine, query, read(run, run.plan.units, charge), limited);
    } else {
      tree = plan_of_parts(run);
    }
    describe_reading(run, tree);
    return tree;
  });
}

Partial partial_of_source(const StateSteps& steps, const Source& part, RowId first_row) {
  const BoundQuery& query = steps.query;
  const std::vector<int> columns = query::columns_read(query);
  const std::int64_t size = num_rows(part);
  const RowRange covers{first_row, first_row + size};
  return with_counted_copies(steps.engine, query.location, [&]() -> Partial {
    if (keeps_all(query) || !query.partition_columns.empty()) {
      const Partial all = partial_by_units(steps, part, columns, units_to_read(query, part), first_row);
      return {all.fingerprint(), {covers}, all.rows(), all.columns()};
    }
    std::vector<RowId> rows = run_source(steps.engine, candidates_query(query, size), part, steps.options).rows;
    std::ranges::sort(rows);
    const SourceRows read = steps.engine.on_threads(steps.options.stop, [&] { return part.read_rows(rows, columns); });
    std::vector<Column> chosen;
    for (const int column : columns) chosen.push_back(read.table.column(column));
    for (RowId& row : rows) row += first_row;
    Table table = chosen.empty() ? Table::with_rows(static_cast<std::int64_t>(rows.size())) : Table(std::move(chosen));
    return {steps.fingerprint, {covers}, std::move(rows), std::move(table)};
  });
}

}  // namespace skyrank::exec
