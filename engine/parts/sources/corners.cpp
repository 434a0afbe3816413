#include "engine/parts/sources/corners.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace skyrank::exec {
namespace {

/// A column's bounds in zones of a unit.
struct ColumnZones {
  std::vector<std::int64_t> ends;  ///< one past the last row of each zone
  Column best;                     ///< by zone
};

/// Returns the best values; none where a NULL may be better in some unit.
Column best_of(const UnitStatistics& statistics, const Order& order) {
  const Column& best = order.high ? statistics.max : statistics.min;
  const auto has_no_null = [](const std::optional<std::int64_t>& nulls) { return nulls && *nulls == 0; };
  if (!order.nulls_first || std::ranges::all_of(statistics.nulls, has_no_null)) return best;
  return Column::own(best.name(), std::vector<float>(statistics.nulls.size(), std::numeric_limits<float>::quiet_NaN()));
}

ColumnZones zones_of(const ZoneStatistics& zones, const Order& order) {
  std::vector<std::int64_t> ends(zones.rows.size());
  std::partial_sum(zones.rows.begin(), zones.rows.end(), ends.begin());
  return {std::move(ends), best_of(zones.bounds, order)};
}

/// Returns the places at which a zone of any column ends.
std::vector<std::int64_t> all_ends(const std::vector<ColumnZones>& columns) {
  std::vector<std::int64_t> ends;
  for (const ColumnZones& column : columns) ends.insert(ends.end(), column.ends.begin(), column.ends.end());
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

/// Returns a column's best value in each of the ranges that end at `ends`, all of which lie in one of its zones.
Column in_ranges(const ColumnZones& column, const std::vector<std::int64_t>& ends) {
  std::vector<RowId> zones;
  for (const std::int64_t end : ends) {
    zones.push_back(std::ranges::lower_bound(column.ends, end) - column.ends.begin());
  }
  return take(column.best, zones);
}

}  // namespace

std::optional<std::vector<Column>> corners_of_units(const Source& source, std::span<const Order> orders) {
  std::vector<Column> corners;
  for (const Order& order : orders) {
    const auto statistics = source.statistics(order.expression->column);
    if (!statistics) return std::nullopt;
    corners.push_back(best_of(*statistics, order));
  }
  return corners;
}

std::optional<std::vector<RowRange>> ranges_left(const Source& source, std::size_t unit, std::span<const Order> orders,
                                                 const Dominators& known, std::uint64_t& bytes) {
  std::vector<ColumnZones> columns;
  for (const Order& order : orders) {
    const auto zones = source.zones(unit, order.expression->column);
    if (!zones) return std::nullopt;
    bytes += zones->bytes;
    columns.push_back(zones_of(*zones, order));
  }
  const std::vector<std::int64_t> ends = all_ends(columns);
  std::vector<Column> corners;
  for (const ColumnZones& column : columns) corners.push_back(in_ranges(column, ends));
  std::vector<RowRange> ranges;
  for (const RowId left : known.corners_left(corners)) {
    const auto place = static_cast<std::size_t>(left);
    const RowId begin = place == 0 ? 0 : ends[place - 1];
    if (!ranges.empty() && ranges.back().end == begin) {
      ranges.back().end = ends[place];
    } else {
      ranges.push_back({begin, ends[place]});
    }
  }
  return ranges;
}

}  // namespace skyrank::exec
