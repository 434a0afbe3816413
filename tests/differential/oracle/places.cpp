#include "tests/differential/oracle/places.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace skyrank::differential {
namespace {

Place reversed(Place place) {
  place.exact = -place.exact;
  place.floating = -place.floating;
  for (int& byte : place.bytes) byte = -byte;
  return place;
}

/// Twice an integer, a day or an instant, so that halves are targets too.
std::optional<Integer> doubled(const Cell& cell) {
  if (const auto* integer = std::get_if<Integer>(&cell)) return 2 * *integer;
  if (const auto* day = std::get_if<Day>(&cell)) return 2 * day->number;
  if (const auto* moment = std::get_if<Moment>(&cell)) return 2 * moment->ns;
  if (const auto* truth = std::get_if<bool>(&cell)) return *truth ? 2 : 0;
  return std::nullopt;
}

Place place_of_value(const Cell& value) {
  if (is_null(value)) return {2};
  if (is_nan(value)) return {1};
  if (const auto integer = doubled(value)) return {0, *integer, 0};
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return {0, 0, std::get<double>(value)};
  Place place;
  for (const char c : *text) place.bytes.push_back(1 + static_cast<unsigned char>(c));
  place.bytes.push_back(0);
  return place;
}

Place distance(const Cell& value, const Cell& from, const Cell& to) {
  if (is_null(value) || is_nan(value)) return place_of_value(value);
  if (const auto integer = doubled(value)) {
    const auto bound = [](const Cell& cell) {
      const auto whole = doubled(cell);
      return whole ? *whole : static_cast<Integer>(2 * std::get<double>(cell));
    };
    const Integer below = bound(from) - *integer;
    const Integer above = *integer - bound(to);
    return {0, std::max<Integer>({below, above, 0}), 0};
  }
  const double number = std::get<double>(value);
  const double low = as_double(from);
  const double high = as_double(to);
  return {0, 0, number < low ? low - number : number > high ? number - high : 0};
}

Place place_in_sets(const Cell& value, const std::vector<std::vector<Cell>>& sets) {
  if (is_null(value)) return {2};
  if (is_nan(value)) return {1};
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (const Cell& member : sets[s]) {
      if (compare(value, member) == Ordering::equal) return {0, static_cast<Integer>(s), 0};
    }
  }
  return {0, static_cast<Integer>(sets.size()), 0};
}

using Term = Preference::Kind;

Place place(const Preference& term, const Row& row) {
  const Cell value = evaluate(*term.expression, row);
  switch (term.kind) {
    case Term::low:
    case Term::high: return place_in_ranking(value, term.kind == Term::high);
    case Term::around: return distance(value, term.from, term.from);
    case Term::between: return distance(value, term.from, term.to);
    case Term::in: return place_in_sets(value, term.sets);
    default: return {0, !is_null(value) && std::get<bool>(value) ? 0 : 1, 0};
  }
}

std::vector<int> ranks_of(const std::vector<Place>& places) {
  const std::set<Place> sorted(places.begin(), places.end());
  std::map<Place, int> rank;
  for (const Place& known : sorted) rank.emplace(known, static_cast<int>(rank.size()));
  std::vector<int> ranks;
  for (const Place& known : places) ranks.push_back(rank.at(known));
  return ranks;
}

}  // namespace

Place place_in_ranking(const Cell& value, bool high) {
  const Place plain = place_of_value(value);
  return high && plain.absence == 0 ? reversed(plain) : plain;
}

Placed placed(const Preference& preference, const std::vector<Row>& rows, First first, bool inverted) {
  if (preference.kind == Term::inverse) return placed(preference.children.front(), rows, first, !inverted);
  Placed result{preference.kind};
  for (const Preference& child : preference.children) result.children.push_back(placed(child, rows, first, inverted));
  if (!result.children.empty()) return result;
  std::vector<Place> places;
  for (const Row& row : rows) {
    const Place plain = place(preference, row);
    const Place directed = inverted && plain.absence == 0 ? reversed(plain) : plain;
    places.push_back(first(directed));
  }
  result.ranks = ranks_of(places);
  return result;
}

Outcome outcome(const Placed& preference, std::size_t a, std::size_t b) {
  if (preference.children.empty()) {
    const int x = preference.ranks[a];
    const int y = preference.ranks[b];
    return x < y ? Outcome::better : x > y ? Outcome::worse : Outcome::equal;
  }
  Outcome all = Outcome::equal;
  for (const Placed& child : preference.children) {
    const Outcome one = outcome(child, a, b);
    if (one == Outcome::equal) continue;
    if (preference.kind == Term::prior) return one;
    if (all == Outcome::equal) all = one;
    if (all != one || one == Outcome::neither) return Outcome::neither;
  }
  return all;
}

}  // namespace skyrank::differential
