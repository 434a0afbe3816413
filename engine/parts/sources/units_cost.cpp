#include "engine/parts/sources/units_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "engine/parts/sources/by_units.hpp"
#include "engine/parts/sources/passing_rows.hpp"
#include "engine/parts/sources/query_units.hpp"
#include "engine/plan/operator_cost.hpp"
#include "planner/facts/estimate.hpp"

namespace skyrank::exec {
namespace {

using query::BoundQuery;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Seconds for what a row of these columns takes.
double seconds_of_row(const Source& source, std::span<const int> columns) {
  double seconds = 0;
  for (const int column : columns) {
    const bool text = source.schema().column(column).type().type == Type::string;
    seconds += text ? unit_cost::kReadText : unit_cost::kReadValue;
  }
  return seconds;
}

/// The values of a column in a unit, as numbers of which low ones are best; infinities where they are not known, or
/// NULL is best and may be there.
struct UnitRange {
  bool is_known() const { return best > -kInfinity; }

  double best = -kInfinity;
  double worst = kInfinity;
};

/// The values of a column in all units.
struct ColumnRanges {
  std::vector<UnitRange> units;
  double nulls = 0;  ///< number of NULLs, as far as it is known, if they are best
};

/// Returns nothing where the source has no statistics of the column.
std::optional<ColumnRanges> ranges_of(const Order& order, const Source& source, const std::vector<std::size_t>& units) {
  const auto statistics = source.statistics(order.expression->column);
  if (!statistics) return std::nullopt;
  ColumnRanges ranges;
  for (const std::size_t unit : units) {
    const auto row = static_cast<std::int64_t>(unit);
    const auto min = number_of_bound(statistics->min.value(row));
    const auto max = number_of_bound(statistics->max.value(row));
    const std::optional<std::int64_t> nulls = order.nulls_first ? statistics->nulls[unit] : 0;
    ranges.nulls += static_cast<double>(nulls.value_or(0));
    if (!min || !max || nulls != 0) {
      ranges.units.emplace_back();
    } else {
      ranges.units.push_back(order.high ? UnitRange{-*max, -*min} : UnitRange{*min, *max});
    }
  }
  return ranges;
}

/// Returns the expected number of units that are read for the best rows, the best units first: of units whose values
/// overlap those of the unit with the last of the rows `wanted`, few lack a better row than that.
double units_of_ranking(const ColumnRanges& column, double wanted, double rows_of_unit) {
  std::vector<UnitRange> known = column.units;
  std::erase_if(known, [](const UnitRange& unit) { return !unit.is_known(); });
  const auto unknown = static_cast<double>(column.units.size() - known.size());
  if (known.empty() || wanted <= column.nulls) return unknown;
  std::ranges::sort(known, {}, &UnitRange::best);
  const auto last = static_cast<std::size_t>(std::min(wanted / rows_of_unit, static_cast<double>(known.size() - 1)));
  const auto end = std::ranges::upper_bound(known, known[last].worst, {}, &UnitRange::best);
  return unknown + std::max(1.0, static_cast<double>(end - known.begin()) * wanted / (wanted + 1));
}

/// Returns the number of units of which no row of a few others is known to dominate all rows.
double units_of_skyline(const std::vector<ColumnRanges>& columns) {
  constexpr std::size_t kDominating = 64;
  const std::size_t units = columns.front().units.size();
  std::vector<std::size_t> best(units);
  std::iota(best.begin(), best.end(), 0);
  const auto dominating = std::min(kDominating, units);
  std::ranges::partial_sort(best, best.begin() + static_cast<std::ptrdiff_t>(dominating), {},
                            [&](std::size_t unit) { return columns.front().units[unit].worst; });
  best.resize(dominating);
  double left = 0;
  for (std::size_t unit = 0; unit < units; ++unit) {
    const auto dominates = [&](std::size_t other) {
      return std::ranges::all_of(
          columns, [&](const ColumnRanges& column) { return column.units[other].worst < column.units[unit].best; });
    };
    left += std::ranges::none_of(best, dominates) ? 1 : 0;
  }
  return left;
}

/// Returns the expected number of units that are read.
double units_to_answer(const BoundQuery& query, const Source& source, const std::vector<std::size_t>& units,
                       double rows, double passing) {
  const auto all = static_cast<double>(units.size());
  std::vector<ColumnRanges> columns;
  if (query.nan_rule == Missing::best) return all;
  for (const Order& order : orders_of(query, source.schema())) {
    auto ranges = ranges_of(order, source, units);
    if (!ranges) return all;
    columns.push_back(*std::move(ranges));
  }
  if (columns.empty() || (query.preference && query.condition)) return all;
  if (columns.size() > 1) return units_of_skyline(columns);
  const double share = passing / rows;
  const auto best = static_cast<double>(query.preference ? 1 : query.offset + query.limit.value_or(0));
  return units_of_ranking(columns.front(), best / std::max(share, 1 / rows), rows / all);
}

/// Returns the number of rows that are expected in the answer, of so many that pass the condition.
double rows_of_answer(const BoundQuery& query, double passing) {
  double answer = passing;
  if (query.preference && !query.levels && !query.skyband) {
    query::ColumnSet columns;
    columns.add(*query.preference);
    answer = planner::skyline_of_dims(answer, static_cast<double>(columns.ascending().size()));
  }
  if (!query.limit || !query.partition_columns.empty()) return answer;
  return std::min(answer, static_cast<double>(query.offset + *query.limit));
}

}  // namespace

double read_seconds(const Source& source, const std::vector<std::size_t>& units, std::span<const int> columns) {
  const auto chunks = static_cast<double>(units.size() * columns.size());
  return chunks * unit_cost::kReadChunk + static_cast<double>(rows_of(source, units)) * seconds_of_row(source, columns);
}

double read_rows_seconds(const Source& source, double rows, std::span<const int> columns) {
  constexpr double kPageRows = 20'000;
  constexpr double kPickedRow = 20e-9;  // seconds for a value of a row that is picked from its page
  const auto all = static_cast<double>(num_rows(source));
  const double pages = std::max(all / kPageRows, static_cast<double>(source.units().size()));
  if (pages == 0) return 0;
  const double touched = -pages * std::expm1(-rows / pages);
  const auto count = static_cast<double>(columns.size());
  return touched * (count * unit_cost::kReadPage + all / pages * seconds_of_row(source, columns)) +
         rows * count * kPickedRow;
}

double whole_columns_seconds(const Source& source, const std::vector<std::size_t>& units,
                             std::span<const int> columns) {
  constexpr double kGain = 1.5;
  return kGain * read_seconds(source, units, columns);
}

bool whole_columns_are_faster(const Source& source, double rows, const std::vector<std::size_t>& units,
                              std::span<const int> columns) {
  constexpr std::int64_t kMinRows = 1 << 13;  // of fewer, either is done at once
  return rows_of(source, units) >= kMinRows &&
         whole_columns_seconds(source, units, columns) < read_rows_seconds(source, rows, columns);
}

planner::Price price_late_columns(const BoundQuery& query, const Source& source, const std::vector<std::size_t>& units,
                                  std::span<const int> columns, double passing) {
  const double rows = rows_of_answer(query, passing);
  const double whole = unit_cost::kReadAgain + whole_columns_seconds(source, units, columns);
  const double alone = unit_cost::kReadAgain + read_rows_seconds(source, rows, columns);
  return {.expected = std::min(alone, whole), .high = query.limit ? alone : whole};
}

// Rows of a skyline meet those that are known to dominate many while their unit is in the caches, before they are
// copied. A ranking gains by units that are skipped alone.
UnitPrices price_units(const BoundQuery& query, const Source& source, const std::vector<std::size_t>& units,
                       std::span<const int> columns, double passing) {
  const auto rows = static_cast<double>(rows_of(source, units));
  const double read = read_seconds(source, units, columns);
  const double share = units_to_answer(query, source, units, rows, passing) / static_cast<double>(units.size());
  const auto wanted = static_cast<double>(query.preference ? 0 : query.offset + query.limit.value_or(0));
  const double best = std::min(rows, wanted * static_cast<double>(units.size()));
  const double queries = static_cast<double>(units.size()) * unit_cost::kUnitQuery + best * unit_cost::kUnitBest;
  const double each = queries + read;
  const double together = read + (query.preference ? passing * unit_cost::kUnitSkylineRow : 0);
  return {.one_by_one = {share * each, each}, .together = {together, together}};
}

}  // namespace skyrank::exec
