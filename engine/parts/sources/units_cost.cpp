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

/// Returns what columns of a source take to read, all of them together.
ReadCost cost_of(const Source& source, std::span<const int> columns) {
  ReadCost all;
  for (const int column : columns) {
    const bool text = source.schema().column(column).type().type == Type::string;
    const ReadCost usual{text ? unit_cost::kReadText : unit_cost::kReadValue, unit_cost::kReadChunk};
    const ReadCost cost = source.read_cost(column).value_or(usual);
    all.value += cost.value;
    all.unit += cost.unit;
  }
  return all;
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

/// Returns the value up to which units are expected to have so many rows, if these lie evenly between the bounds of
/// each unit.
double value_of_row(std::span<const UnitRange> units, double wanted, double rows_of_unit) {
  constexpr int kSteps = 50;  // of halving
  const auto rows_up_to = [&](double value) {
    double rows = 0;
    for (const UnitRange& unit : units) {
      const double width = unit.worst - unit.best;
      rows += rows_of_unit * (value < unit.best ? 0 : width > 0 ? std::min((value - unit.best) / width, 1.0) : 1);
    }
    return rows;
  };
  double low = units.front().best;
  double high = std::ranges::max(units, {}, &UnitRange::worst).worst;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = low + (high - low) / 2;
    (rows_up_to(middle) < wanted ? low : high) = middle;
  }
  return high;
}

/// Returns the expected number of units that are read for the best rows, the best units first: up to the one of which
/// no row is better than the last of the rows `wanted` among those before it.
double units_of_ranking(const ColumnRanges& column, double wanted, double rows_of_unit) {
  std::vector<UnitRange> known = column.units;
  std::erase_if(known, [](const UnitRange& unit) { return !unit.is_known(); });
  const auto unknown = static_cast<double>(column.units.size() - known.size());
  if (known.empty() || wanted <= column.nulls) return unknown;
  std::ranges::sort(known, {}, &UnitRange::best);
  std::size_t few = 1;  // units that are read in any case
  std::size_t end = known.size();
  while (few < end) {
    const std::size_t middle = few + (end - few) / 2;
    const bool is_enough = value_of_row(std::span(known).first(middle), wanted, rows_of_unit) < known[middle].best;
    (is_enough ? end : few) = is_enough ? middle : middle + 1;
  }
  return unknown + static_cast<double>(few);
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

/// Returns how many threads so many pieces of work keep busy.
double busy_threads(double pieces, int threads) {
  return std::clamp(pieces, 1.0, std::max(1.0, static_cast<double>(threads)));
}

/// Returns how many threads are busy all the time where each answers a unit at a time: some have none in the last of
/// the rounds, and all wait for the largest one. `of_largest`: the rows of all units over those of the largest.
double threads_of_units(double units, double of_largest, int threads) {
  const double rounds = std::ceil(units / std::max(threads, 1));
  return busy_threads(std::min(units / std::max(rounds, 1.0), of_largest), threads);
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

// Chunks are decoded side by side, and large ones of few row groups in pieces of their pages.
double read_seconds(const Source& source, const std::vector<std::size_t>& units, std::span<const int> columns,
                    int threads) {
  constexpr double kRowsOfPiece = 1 << 19;
  const ReadCost cost = cost_of(source, columns);
  const auto rows = static_cast<double>(rows_of(source, units));
  const auto chunks = static_cast<double>(units.size());
  const double pieces = std::max(chunks, std::floor(rows / kRowsOfPiece)) * static_cast<double>(columns.size());
  return (chunks * cost.unit + rows * cost.value) / busy_threads(pieces, threads);
}

double read_rows_seconds(const Source& source, double rows, double units, std::span<const int> columns, int threads) {
  constexpr double kPageRows = 20'000;
  constexpr double kPickedRow = 20e-9;  // seconds for a value of a row that is picked from its page
  const double share = std::clamp(units / std::max(static_cast<double>(source.units().size()), 1.0), 0.0, 1.0);
  const double all = share * static_cast<double>(num_rows(source));
  const double pages = std::max(all / kPageRows, units);
  if (pages <= 0) return 0;
  const auto touched = [&](double pieces) { return -pieces * std::expm1(-rows / pieces); };
  const auto count = static_cast<double>(columns.size());
  const double work = touched(pages) * (count * unit_cost::kReadPage + all / pages * cost_of(source, columns).value) +
                      rows * count * kPickedRow;
  return work / busy_threads(touched(units), threads);
}

double whole_columns_seconds(const Source& source, const std::vector<std::size_t>& units, std::span<const int> columns,
                             int threads) {
  constexpr double kGain = 1.5;
  return kGain * read_seconds(source, units, columns, threads);
}

bool whole_columns_are_faster(const Source& source, double rows, const std::vector<std::size_t>& units,
                              std::span<const int> columns, int threads) {
  constexpr std::int64_t kMinRows = 1 << 13;  // of fewer, either is done at once
  return rows_of(source, units) >= kMinRows &&
         whole_columns_seconds(source, units, columns, threads) <
             read_rows_seconds(source, rows, static_cast<double>(units.size()), columns, threads);
}

planner::Price price_late_columns(const BoundQuery& query, const Source& source, const std::vector<std::size_t>& units,
                                  std::span<const int> columns, double passing, int threads) {
  const double rows = rows_of_answer(query, passing);
  const double whole = unit_cost::kReadAgain + whole_columns_seconds(source, units, columns, threads);
  const double alone =
      unit_cost::kReadAgain + read_rows_seconds(source, rows, static_cast<double>(units.size()), columns, threads);
  return {.expected = std::min(alone, whole), .high = query.limit ? alone : whole};
}

// Rows of a skyline meet those that are known to dominate many while their unit is in the caches, before they are
// copied. A ranking gains by units that are skipped alone.
UnitPrices price_units(const BoundQuery& query, const Source& source, const std::vector<std::size_t>& units,
                       std::span<const int> columns, double passing, int threads) {
  const auto rows = static_cast<double>(rows_of(source, units));
  const double read = read_seconds(source, units, columns, 1);
  const double needed = units_to_answer(query, source, units, rows, passing);
  const double share = needed / static_cast<double>(units.size());
  const auto wanted = static_cast<double>(query.preference ? 0 : query.offset + query.limit.value_or(0));
  const double best = std::min(rows, wanted * static_cast<double>(units.size()));
  const double queries = static_cast<double>(units.size()) * unit_cost::kUnitQuery + best * unit_cost::kUnitBest;
  const double each = queries + read;
  std::int64_t largest = 1;
  for (const std::size_t unit : units) largest = std::max(largest, source.units()[unit].rows);
  const double of_largest = std::max(rows, 1.0) / static_cast<double>(largest);
  const double rest = query.preference ? passing * unit_cost::kUnitSkylineRow / threads : 0;
  const double together = read_seconds(source, units, columns, threads) + rest;
  return {.one_by_one = {share * each / threads_of_units(needed, share * of_largest, threads),
                         each / threads_of_units(static_cast<double>(units.size()), of_largest, threads)},
          .together = {together, together},
          .units = needed};
}

}  // namespace skyrank::exec
