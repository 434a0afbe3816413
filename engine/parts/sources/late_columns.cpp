#include "engine/parts/sources/late_columns.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
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

/// Returns the places of rows of a source among those of some units, one after the other; `ids` ascend and are in
/// these.
std::vector<RowId> places_in(const Source& source, const std::vector<std::size_t>& units,
                             const std::vector<RowId>& ids) {
  std::vector<RowId> places;
  auto id = ids.begin();
  RowId end = 0;
  RowId left_out = 0;
  for (std::size_t unit = 0, next = 0; unit < source.units().size(); ++unit) {
    const std::int64_t rows = source.units()[unit].rows;
    end += rows;
    for (; id != ids.end() && *id < end; ++id) places.push_back(*id - left_out);
    const bool is_read = next < units.size() && units[next] == unit;
    next += is_read ? 1 : 0;
    left_out += is_read ? 0 : rows;
  }
  return places;
}

/// Reads the late columns for rows of the source, ascending: alone, or as whole columns where that is faster and these
/// take a small part of the memory.
SourceRows read_late_rows(const QueryContext& context, const QueryPlan& plan, const Source& source,
                          const std::vector<RowId>& ids) {
  constexpr std::size_t kShare = 8;
  const std::size_t bytes = ColumnSizes(source, plan.late).of_units(plan.units);
  if (bytes >= context.engine.memory->left() / kShare ||
      !whole_columns_are_faster(source, static_cast<double>(ids.size()), plan.units, plan.late)) {
    return source.read_rows(ids, plan.late);
  }
  const SourceCharge charge(context.engine, plan.query.location, bytes);
  const SourceRows whole = source.read(plan.units, plan.late);
  return {gather_read(whole.table, plan.late, places_in(source, plan.units, ids)), whole.bytes};
}

/// Reads the late columns for the rows `ids` of the source, which are `rows` of `input`. Adds to `bytes` what is read
/// of storage.
AnswerRows read_late(const QueryContext& context, const QueryPlan& plan, const Source& source, const Table& input,
                     const std::vector<RowId>& rows, const std::vector<RowId>& ids, std::uint64_t& bytes) {
  const auto [sorted_rows, places] = ascending(rows);
  const auto [sorted_ids, unused] = ascending(ids);
  SourceCharge charge(context.engine, plan.query.location,
                      ColumnSizes(source, plan.late).of_rows(static_cast<std::int64_t>(rows.size())));
  SourceRows late = read_late_rows(context, plan, source, sorted_ids);
  charge.finish_reading();
  bytes += late.bytes;
  std::vector<Column> columns = late.table.columns();
  for (const int column : plan.columns) {
    columns[static_cast<std::size_t>(column)] = gather(input.column(column), sorted_rows, input.column(column).name());
  }
  return {Table(std::move(columns)), places, std::move(charge)};
}

/// Returns the rows of an answer in the source.
std::vector<RowId> rows_in_source(const QueryPlan& plan, const Source& source, const std::vector<RowId>* ids,
                                  const std::vector<RowId>& rows) {
  if (ids == nullptr) return SourceIds(source, plan.units).of(rows);
  std::vector<RowId> all;
  all.reserve(rows.size());
  for (const RowId row : rows) all.push_back((*ids)[static_cast<std::size_t>(row)]);
  return all;
}

/// Returns true for outputs that are made with the selection of rows.
bool is_measure(const BoundOutput& output) { return output.kind == BoundOutput::Kind::measure; }

/// Makes the outputs of an answer whose late columns are read.
void make_outputs(const QueryPlan& plan, const AnswerRows& answer, Result& result) {
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
PricedDecision decision_to_read(const QueryPlan& plan, const Source& source, const PlanNode& rows) {
  const double whole = whole_columns_seconds(source, plan.units, plan.late);
  const auto alone = [&](double count) { return read_rows_seconds(source, count, plan.late); };
  const bool taken = whole_columns_are_faster(source, rows.predicted_rows, plan.units, plan.late);
  return {
      std::string(name_of(Rule::late_columns)),
      {priced_candidate("whole columns", {whole, whole}, taken),
       priced_candidate("rows of the answer", {alone(rows.predicted_rows), alone(rows.predicted_rows_high)}, !taken)}};
}

}  // namespace

BoundQuery selection(const QueryPlan& plan) {
  BoundQuery selected = plan.query;
  if (plan.late.empty()) return selected;
  selected.outputs = {{.name = "row", .kind = BoundOutput::Kind::row, .expression = {}}};
  std::ranges::copy_if(plan.query.outputs, std::back_inserter(selected.outputs), is_measure);
  return selected;
}

void finish_answer(const QueryContext& context, const QueryPlan& plan, const Source& source, const Table& input,
                   const std::vector<RowId>* ids, Result& result) {
  Stopwatch watch;
  std::uint64_t bytes = 0;
  context.on_threads([&] {
    const std::vector<RowId> rows = std::move(result.rows);
    result.rows = rows_in_source(plan, source, ids, rows);
    AnswerRows answer;
    if (!plan.late.empty()) answer = read_late(context, plan, source, input, rows, result.rows, bytes);
    make_outputs(plan, answer, result);
  });
  const double ms = watch.lap();
  result.timing.gather_ms += ms;
  result.timing.total_ms += ms;
  if (plan.late.empty()) return;
  result.plan = with_late_columns(plan, source, std::move(result.plan));
  result.plan.measured_rows = static_cast<std::int64_t>(result.rows.size());
  result.plan.measured_ms = ms;
  result.plan.statistics = {{"bytes read", static_cast<double>(bytes)}};
}

PlanNode with_late_columns(const QueryPlan& plan, const Source& source, PlanNode rows) {
  if (plan.late.empty()) return rows;
  PlanNode node;
  node.op = "gather";
  node.detail = query::join(plan.query.outputs, [](const BoundOutput& output) { return output.name; });
  node.reason = "reads " + names_of(source, plan.late) + " for the rows of the answer";
  node.predicted_rows = rows.predicted_rows;
  node.predicted_rows_low = rows.predicted_rows_low;
  node.predicted_rows_high = rows.predicted_rows_high;
  node.predicted_ms = 1e3 * (whole_columns_are_faster(source, rows.predicted_rows, plan.units, plan.late)
                                 ? read_seconds(source, plan.units, plan.late)
                                 : read_rows_seconds(source, rows.predicted_rows, plan.late));
  node.rules = std::exchange(rows.rules, {});
  node.decisions = std::exchange(rows.decisions, {});
  if (plan.lists_candidates) node.decisions.push_back(decision_to_read(plan, source, rows));
  node.children.push_back(std::move(rows));
  return node;
}

}  // namespace skyrank::exec
