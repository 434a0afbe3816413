#include "tests/differential/oracle/fronts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace skyrank::differential {
namespace {

Candidates without_equals(const Placed& preference, const Candidates& rows) {
  Candidates kept;
  for (const Candidate& row : rows) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
      return outcome(preference, other.row, row.row) == Outcome::equal;
    });
    if (!known) kept.push_back(row);
  }
  return kept;
}

/// Counts the rows that dominate each row, and those that it dominates.
void count_dominance(const Placed& preference, Candidates& rows) {
  for (Candidate& row : rows) {
    for (const Candidate& other : rows) {
      const Outcome one = outcome(preference, row.row, other.row);
      row.dominates += one == Outcome::better ? 1 : 0;
      row.dominated_by += one == Outcome::worse ? 1 : 0;
    }
  }
}

/// Moves the rows that no other one dominates from `rest` to `leveled`.
void take_level(const Placed& preference, std::int32_t level, Candidates& rest, Candidates& leveled) {
  Candidates others;
  for (const Candidate& row : rest) {
    const bool beaten = std::any_of(rest.begin(), rest.end(), [&](const Candidate& other) {
      return outcome(preference, other.row, row.row) == Outcome::better;
    });
    (beaten ? others : leveled).push_back(row);
    if (!beaten) leveled.back().level = level;
  }
  rest = std::move(others);
}

void add_value_terms(const Preference& preference, bool inverted, std::vector<ValueTerm>& terms) {
  using Kind = Preference::Kind;
  if (preference.kind == Kind::prior) return add_value_terms(preference.children.back(), inverted, terms);
  if (preference.expression) terms.push_back({preference.expression, (preference.kind == Kind::high) != inverted});
  const bool inverts = preference.kind == Kind::inverse;
  for (const Preference& child : preference.children) add_value_terms(child, inverted != inverts, terms);
}

}  // namespace

Front preferred(const Query& query, const Placed& preference, Candidates rows) {
  Front front{.kept = {}, .leveled = {}, .pool = rows};
  if (query.distinct) rows = without_equals(preference, rows);
  if (query.skyband || !measures_of(query).empty()) count_dominance(preference, rows);
  const auto wanted = query.at_least || query.skyband ? Query::kAll : query.levels.value_or(1);
  for (std::int32_t level = 1; level <= wanted && !rows.empty(); ++level) {
    if (query.at_least && static_cast<std::int64_t>(front.leveled.size()) >= *query.at_least) break;
    take_level(preference, level, rows, front.leveled);
  }
  std::ranges::sort(front.leveled, {}, &Candidate::row);
  front.kept = front.leveled;
  if (query.skyband) {
    std::erase_if(front.kept, [&](const Candidate& row) { return row.dominated_by >= *query.skyband; });
  }
  return front;
}

std::vector<ValueTerm> value_terms(const Preference& preference) {
  std::vector<ValueTerm> terms;
  add_value_terms(preference, false, terms);
  return terms;
}

double number_of(const ValueTerm& term, const Row& row) {
  constexpr double kExact = 9007199254740992;  // 2^53
  constexpr double kLarge = 1e290;             // nothing overflows below, and nothing loses bits above the reciprocal
  const Cell value = evaluate(*term.expression, row);
  if (is_null(value) || is_nan(value)) return std::numeric_limits<double>::quiet_NaN();
  if (const auto* number = std::get_if<double>(&value)) {
    const double size = std::abs(*number);
    const bool plain = size == 0 || std::isinf(size) || (size < kLarge && size > 1 / kLarge);
    if (!plain) throw Undefined("a value at the end of its range");
    return *number;
  }
  const auto* day = std::get_if<Day>(&value);
  const auto* moment = std::get_if<Moment>(&value);
  const Integer whole = day != nullptr      ? day->number
                        : moment != nullptr ? moment->ns / term.expression->domain.ns_per_tick
                                            : std::get<Integer>(value);
  const auto number = static_cast<double>(whole);
  if (std::abs(number) >= kExact) throw Undefined("a value that rounds as a float64");
  return number;
}

}  // namespace skyrank::differential
