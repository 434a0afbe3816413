#include "tests/differential/compare.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <variant>

#include <skyrank/engine.hpp>

namespace skyrank::differential {
namespace {

Cell cell_of(const Value& value) {
  struct Reader {
    Cell operator()(Null) const { return {}; }
    Cell operator()(bool truth) const { return truth; }
    Cell operator()(std::int64_t integer) const { return Integer{integer}; }
    Cell operator()(std::uint64_t integer) const { return Integer{integer}; }
    Cell operator()(double number) const { return number; }
    Cell operator()(Date date) const { return Day{date.days}; }
    Cell operator()(Timestamp timestamp) const {
      constexpr std::int64_t kNs[] = {1'000'000'000, 1'000'000, 1'000, 1};
      return Moment{Integer{timestamp.ticks} * kNs[static_cast<std::size_t>(timestamp.unit)]};
    }
    Cell operator()(const std::string& text) const { return text; }
    Cell operator()(Decimal decimal) const { return to_string(Value(decimal)); }  // none are drawn
  };
  return std::visit(Reader{}, value);
}

bool same(const Cell& a, const Cell& b) {
  if (a.index() != b.index()) return false;
  if (is_null(a) || (is_nan(a) && is_nan(b))) return true;
  if (const auto* number = std::get_if<double>(&a)) {
    return std::bit_cast<std::uint64_t>(*number) == std::bit_cast<std::uint64_t>(std::get<double>(b));
  }
  return compare(a, b) == Ordering::equal;
}

std::string shown(const Cell& cell) { return spelled(cell, {Kind::timestamp, 1}); }

/// The same where ties may fall in any way: each row is a candidate of its own, and of the rank and partition that its
/// place has.
std::string difference_but_for_ties(const Table& table, const Answer& expected) {
  std::vector<bool> taken(expected.candidates.size());
  for (std::size_t i = 0; i < expected.places.size(); ++i) {
    std::vector<Cell> cells;
    for (const Column& column : table.columns()) cells.push_back(cell_of(column.value(static_cast<std::int64_t>(i))));
    const Entry& place = expected.places[i];
    std::size_t found = 0;
    while (found < taken.size()) {
      const Entry& candidate = expected.candidates[found];
      if (!taken[found] && candidate.rank == place.rank && candidate.part == place.part &&
          std::equal(cells.begin(), cells.end(), candidate.cells.begin(), candidate.cells.end(), same)) {
        break;
      }
      ++found;
    }
    if (found == taken.size()) return "place " + std::to_string(i) + ": no row of the rank that belongs there";
    taken[found] = true;
  }
  return {};
}

}  // namespace

std::string difference(const Table& table, const Answer& expected) {
  const auto& columns = table.columns();
  if (columns.size() != expected.columns.size()) return "another number of columns";
  const auto rows = static_cast<std::int64_t>(expected.rows.size());
  if (table.num_rows() != rows) {
    return std::to_string(table.num_rows()) + " rows instead of " + std::to_string(rows);
  }
  if (!expected.places.empty()) return difference_but_for_ties(table, expected);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (std::size_t i = 0; i < expected.rows.size(); ++i) {
      const Cell value = cell_of(columns[c].value(static_cast<std::int64_t>(i)));
      if (same(value, expected.columns[c][i])) continue;
      return "column " + expected.names[c] + ", place " + std::to_string(i) + ": " + shown(value) + " instead of " +
             shown(expected.columns[c][i]);
    }
  }
  return {};
}

Names names_of_engine(bool cuda) {
  Names names{.skyline_algorithms = {}, .topk_algorithms = {}, .rules = {}, .cuda = cuda};
  for (const AlgorithmInfo& algorithm : algorithms()) {
    (algorithm.problem == "skyline" ? names.skyline_algorithms : names.topk_algorithms).push_back(algorithm.name);
  }
  for (const RuleInfo& rule : rules()) names.rules.push_back(rule.name);
  return names;
}

}  // namespace skyrank::differential
