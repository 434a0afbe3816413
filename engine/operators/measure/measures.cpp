#include "engine/operators/measure/measures.hpp"

#include <utility>
#include <vector>

#include "engine/operators/gather/gather.hpp"
#include "engine/operators/skyline/skyband.hpp"

namespace skyrank::exec {

using Kind = query::BoundMeasure::Kind;

Column Measurer::column(const query::BoundMeasure& measure) {
  switch (measure.kind) {
    case Kind::level: return levels();
    case Kind::dominated_by: return row_column(numbers_of_dominators(), measure.text);
    case Kind::dominates: return row_column(numbers_of_dominated(), measure.text);
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

}  // namespace skyrank::exec
