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
  const Segments& segments = candidates_.segments;
  const auto n = static_cast<std::int64_t>(from_.places.size());
  Vector<std::int64_t> places(from_.places.size());
  for (std::int64_t i = 0; i < n; ++i) places[i] = from_.places[segments.at(i)];
  const Vector<std::int64_t> counts = count_in_segments(take(from_.keys, places), segments.bounds,
                                                        kernels::count_dominators, {kAllRows, false}, context_, work_);
  Vector<std::int64_t> numbers(from_.places.size());
  for (std::int64_t i = 0; i < n; ++i) numbers[segments.at(i)] = counts[i];
  return numbers;
}

Vector<std::int64_t> Measurer::numbers_of_dominated() {
  Vector<std::uint8_t> wanted(static_cast<std::size_t>(from_.keys.n));
  for (const std::int64_t place : from_.places) wanted[place] = 1;
  const Vector<std::int64_t> counts = count_in_segments(from_.keys, from_.segments.bounds, kernels::count_dominated,
                                                        {kAllRows, query_.distinct}, context_, work_, wanted);
  Vector<std::int64_t> numbers(from_.places.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = counts[from_.places[i]];
  return numbers;
}

}  // namespace skyrank::exec
