#include "engine/operators/gather/gather_stage.hpp"

#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "engine/operators/gather/gather.hpp"
#include "engine/runtime/large_pages.hpp"
#include "engine/runtime/parallel.hpp"
#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {
namespace {

/// Returns from[places[0]], from[places[1]], ...
template <class T>
Vector<T> values_at(const auto& from, std::span<const std::int64_t> places) {
  Vector<T> values(places.size());
  for_each_range(static_cast<std::int64_t>(places.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) values[i] = from[places[i]];
  });
  return values;
}

/// Returns a copy that the caller will own.
template <class T>
std::vector<T> copy_for_caller(std::span<const T> values) {
  QueryMemory::hold(values.size_bytes());
  return in_large_pages(values);
}

/// Returns the levels of the rows at `positions`, or of all candidates; empty without a preference, and where they were
/// not found.
std::vector<std::int32_t> levels_of(const Execution& execution, const Candidates& candidates,
                                    const std::optional<Vector<std::int64_t>>& positions) {
  if (!execution.plan.preference || !candidates.levels.are_found()) return {};
  const auto n = positions ? positions->size() : static_cast<std::size_t>(candidates.rows.size());
  if (candidates.levels.are_first()) {
    QueryMemory::hold(n * sizeof(std::int32_t));
    return in_large_pages(n, std::int32_t{1});
  }
  return copy_for_caller<std::int32_t>(positions ? candidates.levels.at(*positions)
                                                 : candidates.levels.all(candidates.rows.size()));
}

/// The ids of an answer's rows, in its order. A list of all candidates is viewed, not copied.
class AnswerRows {
 public:
  /// Takes the rows at `positions`, or all rows without them.
  AnswerRows(const RowSet& rows, std::optional<Vector<std::int64_t>> positions) : all_(rows) {
    if (positions) {
      chosen_ = rows.is_all() ? std::move(*positions) : rows.at(*positions);
    } else if (rows.is_all()) {
      chosen_.resize(static_cast<std::size_t>(rows.size()));
      std::iota(chosen_.begin(), chosen_.end(), RowId{0});
    } else {
      listed_ = true;
    }
  }

  std::span<const RowId> ids() const {
    if (!listed_) return chosen_;
    return {all_.view().ids, static_cast<std::size_t>(all_.size())};
  }

 private:
  RowSet all_;
  Vector<RowId> chosen_;
  bool listed_ = false;  // they are those of `all_`
};

/// Returns a measure of the rows at `positions`, or of all candidates.
Column measure_column(const query::BoundOutput& output, const Candidates& candidates,
                      const std::optional<Vector<std::int64_t>>& positions) {
  const Column& all = candidates.measures[output.measure];
  return positions ? gather(all, *positions, output.name) : gather_all(all.renamed(output.name));
}

Column output_column(const query::BoundOutput& output, const SourceTable& source, std::span<const RowId> rows,
                     std::span<const std::int32_t> levels) {
  switch (output.kind) {
    case query::BoundOutput::Kind::row:
      return source.grouped ? row_column(values_at<RowId>(source.first_rows, rows), output.name)
                            : row_column(rows, output.name);
    case query::BoundOutput::Kind::level: return Column::own(output.name, copy_for_caller(levels));
    case query::BoundOutput::Kind::measure:  // made before
    case query::BoundOutput::Kind::score:
    case query::BoundOutput::Kind::expression: break;
  }
  return gather(output.expression, source.table, rows, output.name);
}

}  // namespace

Result gather(Execution& execution, const SourceTable& source, const Candidates& candidates,
              std::optional<Vector<std::int64_t>> positions) {
  Result result;
  const Operator& op = execution.plan.operators.gather;
  result.table = execution.timed(op, [&] {
    result.levels = levels_of(execution, candidates, positions);
    const std::vector<query::BoundOutput>& outputs = execution.query().outputs;
    const auto is_measure = [](const query::BoundOutput& output) {
      return output.kind == query::BoundOutput::Kind::measure;
    };
    std::vector<Column> measures;
    for (const query::BoundOutput& output : outputs) {
      if (is_measure(output)) measures.push_back(measure_column(output, candidates, positions));
    }
    const AnswerRows rows(candidates.rows, std::move(positions));
    std::vector<Column> columns;
    auto next = measures.begin();
    for (const query::BoundOutput& output : outputs) {
      columns.push_back(is_measure(output) ? std::move(*next++)
                                           : output_column(output, source, rows.ids(), result.levels));
    }
    result.rows = source.grouped ? copy_for_caller<RowId>(values_at<RowId>(source.first_rows, rows.ids()))
                                 : copy_for_caller<RowId>(rows.ids());
    return Table(std::move(columns));
  });
  execution.record.of(op).rows = result.table.num_rows();
  return result;
}

}  // namespace skyrank::exec
