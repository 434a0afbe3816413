#include "engine/parts/sources/query_units.hpp"

#include <algorithm>
#include <numeric>

namespace skyrank::exec {

std::int64_t rows_of(const Source& source, const std::vector<std::size_t>& units) {
  return std::accumulate(units.begin(), units.end(), std::int64_t{0},
                         [&](std::int64_t rows, std::size_t unit) { return rows + source.units()[unit].rows; });
}

QueryUnits::QueryUnits(const EngineState& state, const Location& query_location, const Source& source,
                       const std::vector<int>& columns, RowId first_row)
    : state_(state), query_location_(query_location), sizes_(source, columns) {
  for (const SourceUnit& unit : source.units()) {
    begins_.push_back(first_row);
    first_row += unit.rows;
  }
}

SourceCharge QueryUnits::charge_unit(std::size_t unit) const {
  return {state_, query_location_, sizes_.of_units({&unit, 1})};
}

SourceCharge QueryUnits::charge_rows(std::size_t rows) const {
  SourceCharge charge(state_, query_location_, sizes_.of_rows(static_cast<std::int64_t>(rows)));
  charge.finish_reading();
  return charge;
}

std::size_t QueryUnits::threads(const std::vector<std::size_t>& units, std::size_t room) const {
  std::size_t largest = 0;
  for (const std::size_t unit : units) largest = std::max(largest, sizes_.of_units({&unit, 1}));
  const auto most = std::min(static_cast<std::size_t>(state_.arena.max_concurrency()), units.size());
  return threads_within_limit(state_, largest, most, room);
}

}  // namespace skyrank::exec
