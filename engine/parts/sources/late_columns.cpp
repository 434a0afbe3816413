#include "engine/parts/sources/late_columns.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/memory/source_memory.hpp"
#include "engine/parts/sources/plan_source.hpp"
#include "engine/parts/sources/units_cost.hpp"
#include "engine/runtime/stopwatch.hpp"
#include "engine/text.hpp"

namespace skyrank::exec {
namespace {

using query::BoundOutput;
using query::BoundQuery;

/// The rows of some units, which a table has one after the other: their numbers in the table and in the source.
class UnitPlaces {
 public:
  UnitPlaces(const Source& source, const std::vector<std::size_t>& units) {
    std::int64_t first = 0;
    std::int64_t here = 0;
    std::size_t next = 0;
    for (std::size_t unit = 0; unit < source.units().size(); ++unit) {
      const std::int64_t rows = source.units()[unit].rows;
      first += rows;
      if (next == units.size() || units[next] != unit) continue;
      here += rows;
      table_ends_.push_back(here);
      source_ends_.push_back(first);
      ++next;
    }
  }

  std::vector<RowId> in_source(const std::vector<RowId>& rows) const { return mapped(rows, table_ends_, source_ends_); }
  std::vector<RowId> in_table(const std::vector<RowId>& ids) const { return mapped(ids, source_ends_, table_ends_); }

 private:
  /// Rows as counted by units that end at `from`, counted by the same units where they end at `to`.
  static std::vector<RowId> mapped(const std::vector<RowId>& rows, const std::vector<std::int64_t>& from,
                                   const std::vector<std::int64_t>& to) {
    std::vector<RowId> counted;
    counted.reserve(rows.size());
    for (const RowId row : rows) {
      if (row < 0) {  // of the group of all rows, where there are none
        counted.push_back(row);
        continue;
      }
      const auto unit = static_cast<std::size_t>(std::ranges::upper_bound(from, row) - from.begin());
      counted.push_back(row + to[unit] - from[unit]);
    }
    return counted;
  }

  std::vector<std::int64_t> table_ends_;   // of the units
  std::vector<std::int64_t> source_ends_;  // likewise
};

/// The rows of an answer with all columns that its outputs read.
struct LateRows {
  Table table;
  std::vector<RowId> places;                ///< per row of the answer: its row in `table`
  std::optional<SourceCharge> charge = {};  ///< for what was read
};

std::vector<RowId> at(const std::vector<RowId>& rows, std::span<const std::int64_t> order) {
  std::vector<RowId> ordered;
  ordered.reserve(order.size());
  for (const std::int64_t i : order) ordered.push_back(rows[static_cast<std::size_t>(i)]);
  return ordered;
}

int threads_of(const QueryContext& context) { return context.engine.arena.max_concurrency(); }

/// Returns true if the late columns are read as whole columns for so many rows: that is faster, and they take a small
/// part of the memory.
bool reads_whole_columns(const QueryContext& context, const QueryPlan& plan, const Source& source, std::size_t rows) {
  return !take_much_memory(context.engine, source, plan.units, plan.late) &&
         whole_columns_are_faster(source, static_cast<double>(rows), plan.units, plan.late, threads_of(context));
}

/// Returns the rows `ids` of whole late columns.
SourceRows pick_from_whole(const QueryContext& context, const QueryPlan& plan, const Source& source,
                           const std::vector<RowId>& ids) {
  const SourceCharge charge(context.engine, plan.query.location, ColumnSizes(source, plan.late).of_units(plan.units));
  const SourceRows whole = source.read(plan.units, plan.late);
  return {gather_read(whole.table, plan.late, UnitPlaces(source, plan.units).in_table(ids)), whole.bytes};
}

/// Reads the late columns for the rows `ids` of the source, which are `rows` of `input`. Adds to `bytes` what is read
/// of storage. Rows that are read alone are read in the order of the source.
LateRows read_late(const QueryContext& context, const QueryPlan& plan, const Source& source, const Table& input,
                   const std::vector<RowId>& rows, const std::vector<RowId>& ids, std::uint64_t& bytes) {
  SourceCharge charge(context.engine, plan.query.location,
                      ColumnSizes(source, plan.late).of_rows(static_cast<std::int64_t>(rows.size())));
  const bool whole = reads_whole_columns(context, plan, source, rows.size());
  const Vector<std::int64_t> order = whole ? Vector<std::int64_t>() : ascending_order(ids);
  SourceRows late = whole           ? pick_from_whole(context, plan, source, ids)
                    : order.empty() ? source.read_rows(ids, plan.late)
                                    : source.read_rows(at(ids, order), plan.late);
  charge.finish_reading();
  bytes += late.bytes;
  const std::vector<RowId> input_rows = order.empty() ? rows : at(rows, order);
  std::vector<Column> columns = late.table.columns();
  for (const int column : plan.columns) {
    columns[static_cast<std::size_t>(column)] = gather(input.column(column), input_rows, input.column(column).name());
  }
  std::vector<RowId> places(rows.size());
  std::iota(places.begin(), places.end(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) places[static_cast<std::size_t>(order[i])] = static_cast<RowId>(i);
  return {Table(std::move(columns)), std::move(places), std::move(charge)};
}

/// Returns the rows of an answer in the source.
std::vector<RowId> rows_in_source(const QueryPlan& plan, const Source& source, const std::vector<RowId>* ids,
                                  const std::vector<RowId>& rows) {
  if (ids == nullptr) return UnitPlaces(source, plan.units).in_source(rows);
  std::vector<RowId> all;
  all.reserve(rows.size());
  for (const RowId row : rows) all.push_back((*ids)[static_cast<std::size_t>(row)]);
  return all;
}

/// Returns true for outputs that are made with the selection of rows.
bool is_measure(const BoundOutput& output) { return output.kind == BoundOutput::Kind::measure; }

/// Makes the outputs of an answer whose late columns are read.
void make_outputs(const QueryPlan& plan, const LateRows& answer, Result& result) {
  std::vector<Column> columns;
  int measures = 0;  // behind the row of a selection
  for (std::size_t i = 0; i < plan.query.outputs.size(); ++i) {
    const BoundOutput& output = plan.query.outputs[i];
    if (output.kind == BoundOutput::Kind::row) {
      columns.push_back(row_column(result.rows, output.name));
    } else if (plan.late.empty()) {
      columns.push_back(result.table.column(static_cast<int>(i)));
    } else if (is_measure(output)) {
      columns.push_back(result.table.column(++measures));
    } else if (output.kind == BoundOutput::Kind::level) {
      columns.push_back(Column::own(output.name, std::vector<std::int32_t>(result.levels)));
    } else {
      columns.push_back(gather(output.expression, answer.table, answer.places, output.name));
    }
  }
  result.table = Table(std::move(columns));
}

/// Returns the choice between reading late columns whole and for the rows of the answer.
PricedDecision decision_to_read(const QueryPlan& plan, const Source& source, const PlanNode& rows, int threads) {
  const double whole = whole_columns_seconds(source, plan.units, plan.late, threads);
  const auto alone = [&](double count) {
    return read_rows_seconds(source, count, static_cast<double>(plan.units.size()), plan.late, threads);
  };
  const bool taken = whole_columns_are_faster(source, rows.predicted_rows, plan.units, plan.late, threads);
  return {
      std::string(name_of(Rule::late_columns)),
      {priced_candidate("whole columns", {whole, whole}, taken),
       priced_candidate("rows of the answer", {alone(rows.predicted_rows), alone(rows.predicted_rows_high)}, !taken)}};
}

/// Returns the milliseconds that reading the late columns of so many rows is expected to take.
double predicted_late_ms(const QueryContext& context, const QueryPlan& plan, const Source& source, double rows) {
  const int threads = threads_of(context);
  return 1e3 * (whole_columns_are_faster(source, rows, plan.units, plan.late, threads)
                    ? read_seconds(source, plan.units, plan.late, threads)
                    : read_rows_seconds(source, rows, expected_units(plan, source), plan.late, threads));
}

}  // namespace

BoundQuery selection(const QueryPlan& plan) {
  BoundQuery selected = plan.query;
  if (plan.late.empty()) return selected;
  selected.outputs = {{.name = "row", .kind = BoundOutput::Kind::row, .expression = {}}};
  std::ranges::copy_if(plan.query.outputs, std::back_inserter(selected.outputs), is_measure);
  // Levels are those of the result, which has them where some output asks for them.
  std::ranges::copy_if(plan.query.outputs, std::back_inserter(selected.outputs),
                       [](const BoundOutput& output) { return output.kind == BoundOutput::Kind::level; });
  return selected;
}

void finish_answer(const QueryContext& context, const QueryPlan& plan, const Source& source, const Table& input,
                   const std::vector<RowId>* ids, Result& result) {
  Stopwatch watch;
  std::uint64_t bytes = 0;
  context.on_threads([&] {
    const std::vector<RowId> rows = std::move(result.rows);
    result.rows = rows_in_source(plan, source, ids, rows);
    LateRows answer;
    if (!plan.late.empty()) answer = read_late(context, plan, source, input, rows, result.rows, bytes);
    make_outputs(plan, answer, result);
  });
  const double ms = watch.lap();
  result.timing.gather_ms += ms;
  result.timing.total_ms += ms;
  if (plan.late.empty()) return;
  result.plan = with_late_columns(context, plan, source, std::move(result.plan));
  result.plan.measured_rows = static_cast<std::int64_t>(result.rows.size());
  result.plan.measured_ms = ms;
  result.plan.statistics = {{"bytes read", static_cast<double>(bytes)}};
}

PlanNode with_late_columns(const QueryContext& context, const QueryPlan& plan, const Source& source, PlanNode rows) {
  if (plan.late.empty()) return rows;
  PlanNode node;
  node.op = "gather";
  node.detail = query::join(plan.query.outputs, [](const BoundOutput& output) { return output.name; });
  node.reason = "reads " + names_of(source, plan.late) + " for the rows of the answer";
  node.predicted_rows = rows.predicted_rows;
  node.predicted_rows_low = rows.predicted_rows_low;
  node.predicted_rows_high = rows.predicted_rows_high;
  node.predicted_ms = predicted_late_ms(context, plan, source, rows.predicted_rows);
  node.rules = std::exchange(rows.rules, {});
  node.decisions = std::exchange(rows.decisions, {});
  if (plan.lists_candidates) node.decisions.push_back(decision_to_read(plan, source, rows, threads_of(context)));
  node.children.push_back(std::move(rows));
  return node;
}

}  // namespace skyrank::exec
