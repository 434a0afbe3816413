#include "engine/operators/measure/measure_stage.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/operators/gather/gather.hpp"
#include "engine/operators/measure/levels_measured.hpp"
#include "engine/operators/skyline/skyband.hpp"

// Measures of the rows that a preference keeps, by the rows of their partition from which it chose.
namespace skyrank::exec {
namespace {

using MeasureKind = query::BoundMeasure::Kind;

/// Makes the measures of candidates, each of which is a column with a value for each candidate.
class Measurer {
 public:
  /// `from` has the places of the candidates among the keys. The GPU counts rows if `on_device`. All references must
  /// outlive the measurer.
  Measurer(const query::BoundQuery& query, const Table& table, const ChosenFrom& from, const Candidates& candidates,
           bool on_device, const ExecutionContext& context)
      : query_(query), table_(table), from_(from), candidates_(candidates), on_device_(on_device), context_(context) {}

  Column column(const query::BoundMeasure& measure);

  const kernels::Work& work() const { return work_; }

 private:
  Column levels() const;
  Vector<std::int64_t> numbers_of_dominators();
  Vector<std::int64_t> numbers_of_dominated();
  AskingRows rows_by_segment() const;

  const query::BoundQuery& query_;
  const Table& table_;
  const ChosenFrom& from_;
  const Candidates& candidates_;
  bool on_device_;
  const ExecutionContext& context_;
  std::optional<MeasuredLevels> levels_;  ///< once they are asked for
  kernels::Work work_;
};

Column Measurer::column(const query::BoundMeasure& measure) {
  switch (measure.kind) {
    case MeasureKind::level: return levels();
    case MeasureKind::dominated_by: return row_column(numbers_of_dominators(), measure.text);
    case MeasureKind::dominates: return row_column(numbers_of_dominated(), measure.text);
    default: break;
  }
  if (!levels_) levels_.emplace(query_, table_, from_, candidates_, context_);
  return levels_->column(measure);
}

Column Measurer::levels() const {
  const auto n = static_cast<std::size_t>(candidates_.rows.size());
  QueryMemory::hold(n * sizeof(std::int32_t));
  std::vector<std::int32_t> levels(n, 1);
  if (!candidates_.levels.are_first()) {
    const Vector<std::int32_t> all = candidates_.levels.all(candidates_.rows.size());
    levels.assign(all.begin(), all.end());
  }
  return Column::own("level()", std::move(levels));
}

// Rows that dominate a kept one are kept too: they are on higher levels, and less is above them.
Vector<std::int64_t> Measurer::numbers_of_dominators() {
  Vector<std::int64_t> numbers(from_.places.size());
  if (!query_.keeps_dominated_rows()) return numbers;
  const AskingRows kept = rows_by_segment();
  const Vector<std::int64_t> counts =
      count_dominators(take(from_.keys, kept.rows), kept.bounds, {false, on_device_}, context_, work_);
  for (std::size_t i = 0; i < counts.size(); ++i)
    numbers[candidates_.segments.at(static_cast<std::int64_t>(i))] = counts[i];
  return numbers;
}

Vector<std::int64_t> Measurer::numbers_of_dominated() {
  const Vector<std::int64_t> counts = count_dominated(from_.keys, from_.segments.bounds, rows_by_segment(),
                                                      {query_.distinct, on_device_}, context_, work_);
  Vector<std::int64_t> numbers(from_.places.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    numbers[candidates_.segments.at(static_cast<std::int64_t>(i))] = counts[i];
  return numbers;
}

/// The kept rows as places among the keys.
AskingRows Measurer::rows_by_segment() const {
  const Segments& segments = candidates_.segments;
  if (segments.order.empty()) return {from_.places, segments.bounds};
  AskingRows rows{Vector<std::int64_t>(from_.places.size()), segments.bounds};
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    rows.rows[i] = from_.places[segments.at(static_cast<std::int64_t>(i))];
  }
  return rows;
}

}  // namespace

Candidates measure(Execution& execution, const SourceTable& source, const ChosenFrom& from, Candidates candidates) {
  const std::optional<Operator>& op = execution.plan.operators.measure;
  if (!op) return candidates;
  Report report;
  report.rows = candidates.rows.size();
  candidates.measures = execution.timed(*op, [&] {
    Measurer measurer(execution.query(), source.table, from, candidates, execution.plan.counts_on_device,
                      execution.context);
    std::vector<Column> columns;
    for (const query::BoundMeasure& one : execution.query().measures) columns.push_back(measurer.column(one));
    report.work = measurer.work();
    return columns;
  });
  execution.book(*op, report);
  return candidates;
}

}  // namespace skyrank::exec
