#include "tests/differential/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace skyrank::differential {
namespace {

/// The place of a value in the order of one term: absence first, then an exact and a floating part, then bytes.
struct Place {
  int absence = 0;  ///< 0: a value, 1: NaN, 2: NULL
  Integer exact = 0;
  double floating = 0;
  std::vector<int> bytes = {};  ///< bytes of a string, and a last one that is less than all

  bool operator<(const Place& other) const {
    if (absence != other.absence) return absence < other.absence;
    if (exact != other.exact) return exact < other.exact;
    return floating != other.floating ? floating < other.floating : bytes < other.bytes;
  }
};

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

/// The rules `best`, by which missing values come before all others; NULL before NaN.
struct First {
  bool nan;
  bool nulls;

  Place operator()(Place place) const {
    if (place.absence == 2 && nulls) place.absence = -2;
    if (place.absence == 1 && nan) place.absence = -1;
    return place;
  }
};

Place place(const Preference& term, const Row& row) {
  const Cell value = evaluate(*term.expression, row);
  switch (term.kind) {
    case Term::low: return place_of_value(value);
    case Term::high: {
      const Place plain = place_of_value(value);
      return plain.absence == 0 ? reversed(plain) : plain;
    }
    case Term::around: return distance(value, term.from, term.from);
    case Term::between: return distance(value, term.from, term.to);
    case Term::in: return place_in_sets(value, term.sets);
    default: return {0, !is_null(value) && std::get<bool>(value) ? 0 : 1, 0};
  }
}

// ---- Candidates ----

struct Candidate {
  std::size_t row;
  std::int32_t level = 0;
  std::int64_t dominated_by = 0;
  std::int64_t dominates = 0;
};
using Candidates = std::vector<Candidate>;

/// A preference with the places of all rows, as small numbers, per term.
struct Placed {
  Term kind;
  std::vector<int> ranks = {};  ///< by row; smaller is better
  std::vector<Placed> children = {};
};

std::vector<int> ranks_of(const std::vector<Place>& places) {
  const std::set<Place> sorted(places.begin(), places.end());
  std::map<Place, int> rank;
  for (const Place& known : sorted) rank.emplace(known, static_cast<int>(rank.size()));
  std::vector<int> ranks;
  for (const Place& known : places) ranks.push_back(rank.at(known));
  return ranks;
}

Placed placed(const Preference& preference, const std::vector<Row>& rows, First first, bool inverted = false) {
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

enum class Outcome { equal, better, worse, neither };

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

Candidates preferred(const Query& query, const Placed& preference, Candidates rest) {
  if (query.distinct) rest = without_equals(preference, rest);
  count_dominance(preference, rest);
  Candidates kept;
  const auto wanted = query.at_least || query.skyband ? Query::kAll : query.levels.value_or(1);
  for (std::int32_t level = 1; level <= wanted && !rest.empty(); ++level) {
    if (query.at_least && static_cast<std::int64_t>(kept.size()) >= *query.at_least) break;
    Candidates others;
    const Candidates before = rest;
    for (const Candidate& row : before) {
      const bool beaten = std::any_of(before.begin(), before.end(), [&](const Candidate& other) {
        return outcome(preference, other.row, row.row) == Outcome::better;
      });
      if (beaten) {
        others.push_back(row);
      } else {
        kept.push_back(row);
        kept.back().level = level;
      }
    }
    rest = std::move(others);
  }
  if (query.skyband) {
    std::erase_if(kept, [&](const Candidate& row) { return row.dominated_by >= *query.skyband; });
  }
  std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.row < b.row; });
  return kept;
}

/// The place of every row in a ranking.
std::vector<int> ranked(const std::vector<Ranking>& ranking, const std::vector<Row>& rows, First first) {
  std::vector<std::vector<Place>> keys;
  for (const Row& row : rows) {
    auto& key = keys.emplace_back();
    for (const Ranking& term : ranking) {
      const Place plain = place({.kind = term.high ? Term::high : Term::low, .expression = term.expression}, row);
      key.push_back(first(plain));
    }
  }
  const std::set<std::vector<Place>> sorted(keys.begin(), keys.end());
  std::map<std::vector<Place>, int> rank;
  for (const auto& known : sorted) rank.emplace(known, static_cast<int>(rank.size()));
  std::vector<int> ranks;
  for (const auto& known : keys) ranks.push_back(rank.at(known));
  return ranks;
}

Candidates window(const Query& query, const std::vector<int>& ranks, const Candidates& rows) {
  const auto n = static_cast<std::int64_t>(rows.size());
  if (query.limit == 0) return {};
  const std::int64_t begin = std::min(query.offset, n);
  const std::int64_t end = query.limit ? std::min(begin + *query.limit, n) : n;
  if (begin == end) return {};
  const int last_rank = ranks[rows[static_cast<std::size_t>(end - 1)].row];
  const auto tied = [&](const Candidate& row) { return ranks[row.row] == last_rank; };
  const bool ties_matter = !query.rank_by.empty() && end < n;
  std::int64_t stop = end;
  if (ties_matter && query.ties == "all") {
    while (stop < n && tied(rows[static_cast<std::size_t>(stop)])) ++stop;
  }
  Candidates answer(rows.begin() + begin, rows.begin() + stop);
  if (!ties_matter || query.ties != "last") return answer;
  Candidates candidates;
  std::copy_if(rows.begin() + begin, rows.end(), std::back_inserter(candidates), tied);
  const auto places = std::count_if(answer.begin(), answer.end(), tied);
  std::copy(candidates.end() - places, candidates.end(), answer.end() - places);
  return answer;
}

// ---- Groups ----

/// Equal for values of one group: NULL is a value, NaN one, and there is one zero.
std::string identity(const Cell& cell) {
  if (is_nan(cell)) return "nan";
  if (const auto* number = std::get_if<double>(&cell); number != nullptr && *number == 0) return "0";
  if (const auto* moment = std::get_if<Moment>(&cell)) return spelled(moment->ns);
  if (const auto* day = std::get_if<Day>(&cell)) return spelled(day->number);
  return spelled(cell, {});
}

std::vector<Candidates> parts(const std::vector<std::size_t>& columns, const std::vector<Row>& rows,
                              const Candidates& of) {
  std::map<std::vector<std::string>, std::size_t> known;
  std::vector<Candidates> result;
  for (const Candidate& candidate : of) {
    std::vector<std::string> key;
    for (const std::size_t column : columns) key.push_back(identity(rows[candidate.row][column]));
    const auto [place, is_new] = known.emplace(std::move(key), result.size());
    if (is_new) result.emplace_back();
    result[place->second].push_back(candidate);
  }
  return result;
}

/// A sum that does not depend on the order of its terms.
double exact_sum(const std::vector<Cell>& values) {
  double sum = 0;
  for (const Cell& cell : values) {
    const double value = std::get<double>(cell);
    const bool exact = !std::isfinite(value) || (std::abs(value) < 1e6 && value * 1024 == std::trunc(value * 1024));
    if (!exact || (value == 0 && std::signbit(value))) throw Undefined("a sum that rounds");
    sum += value;
  }
  return sum;
}

Cell aggregated(const Aggregation& aggregate, const std::vector<Row>& rows, const Candidates& group) {
  std::vector<Cell> values;
  for (const Candidate& candidate : group) {
    Cell value = aggregate.argument ? evaluate(*aggregate.argument, rows[candidate.row]) : Cell(true);
    if (!is_null(value)) values.push_back(std::move(value));
  }
  if (aggregate.function == "count") return static_cast<Integer>(values.size());
  if (values.empty()) return {};
  if (aggregate.function == "min" || aggregate.function == "max") {
    Cell best = values.front();
    const Ordering wanted = aggregate.function == "min" ? Ordering::less : Ordering::greater;
    for (const Cell& value : values) {
      if (is_nan(best) || (!is_nan(value) && compare(value, best) == wanted)) best = value;
    }
    return best;
  }
  const bool average = aggregate.function == "avg";
  const auto count = static_cast<double>(values.size());
  if (aggregate.argument->domain.kind == Kind::float64) return exact_sum(values) / (average ? count : 1);
  Integer sum = 0;
  for (const Cell& value : values) sum += std::get<Integer>(value);
  const bool is_unsigned = aggregate.argument->domain.kind == Kind::uint64;
  const Integer highest = is_unsigned ? Integer{std::numeric_limits<std::uint64_t>::max()}
                                      : Integer{std::numeric_limits<std::int64_t>::max()};
  const bool fits = sum <= highest && sum >= (is_unsigned ? 0 : Integer{std::numeric_limits<std::int64_t>::min()});
  if (!fits) throw Undefined("a sum overflows");
  if (average) return static_cast<double>(sum) / count;
  return sum;
}

Relation grouped(const Query& query, const Relation& table, const Candidates& rows) {
  Relation groups{.fields = fields_after_grouping(query, table)};
  for (const Candidates& group : parts(query.group_by, table.rows, rows)) {
    Row& row = groups.rows.emplace_back();
    for (const std::size_t column : query.group_by) row.push_back(table.rows[group.front().row][column]);
    for (const Aggregation& aggregate : query.aggregates) row.push_back(aggregated(aggregate, table.rows, group));
    groups.first_rows.push_back(static_cast<std::int64_t>(group.front().row));
  }
  return groups;
}

// ---- NaN and NULL ----

void add_values(const Preference& preference, std::vector<ExpressionPtr>& values) {
  if (preference.expression && preference.kind != Term::where) values.push_back(preference.expression);
  for (const Preference& child : preference.children) add_values(child, values);
}

/// Drops rows by the rules for missing values; false where such a row is an error.
bool apply_missing_rules(const Query& query, const Relation& relation, Candidates& rows) {
  std::vector<ExpressionPtr> values;
  if (query.prefer) add_values(*query.prefer, values);
  for (const Ranking& term : query.rank_by) values.push_back(term.expression);
  bool refused = false;
  std::erase_if(rows, [&](const Candidate& candidate) {
    bool drop = false;
    bool fails = false;
    for (const ExpressionPtr& expression : values) {
      const Cell value = evaluate(*expression, relation.rows[candidate.row]);
      const std::string& rule = is_null(value) ? query.nulls : query.nan;
      if (!is_null(value) && !is_nan(value)) continue;
      drop = drop || rule == "exclude";
      fails = fails || rule == "error";
    }
    if (drop && fails) throw Undefined("both excluded and refused");
    refused = refused || fails;
    return drop;
  });
  return !refused;
}

std::vector<Cell> selected(const Output& output, const Query& query, const Relation& relation, const Candidates& rows) {
  std::vector<Cell> cells;
  for (const Candidate& candidate : rows) {
    const Row& row = relation.rows[candidate.row];
    switch (output.kind) {
      case Output::Kind::row:
        cells.emplace_back(relation.first_rows.empty() ? static_cast<Integer>(candidate.row)
                                                       : Integer{relation.first_rows[candidate.row]});
        break;
      case Output::Kind::level: cells.emplace_back(Integer{candidate.level}); break;
      case Output::Kind::dominated_by: cells.emplace_back(Integer{candidate.dominated_by}); break;
      case Output::Kind::dominates: cells.emplace_back(Integer{candidate.dominates}); break;
      case Output::Kind::score: cells.push_back(evaluate(*query.rank_by.front().expression, row)); break;
      case Output::Kind::expression: cells.push_back(evaluate(*output.expression, row)); break;
    }
  }
  return cells;
}

std::vector<Entry> entries(const std::vector<Output>& outputs, const Query& query, const Relation& relation,
                           const std::vector<int>& ranks, const Candidates& rows,
                           const std::vector<std::size_t>& parts_of_rows) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t row = rows[i].row;
    const std::int64_t input_row =
        relation.first_rows.empty() ? static_cast<std::int64_t>(row) : relation.first_rows[row];
    entries.push_back({input_row, rows[i].level, ranks[row], parts_of_rows[i]});
  }
  for (const Output& output : outputs) {
    const std::vector<Cell> cells = selected(output, query, relation, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) entries[i].cells.push_back(cells[i]);
  }
  return entries;
}

Candidates all_rows(const Relation& relation) {
  Candidates rows;
  for (std::size_t row = 0; row < relation.rows.size(); ++row) rows.push_back({row});
  return rows;
}

/// Evaluates what the query names for every row, as an engine may: a failure anywhere leaves the answer open.
void evaluate_everywhere(const ExpressionPtr& expression, const Relation& relation) {
  if (!expression) return;
  for (const Row& row : relation.rows) evaluate(*expression, row);
}

}  // namespace

std::vector<Field> fields_after_grouping(const Query& query, const Relation& table) {
  if (query.group_by.empty()) return table.fields;
  std::vector<Field> fields;
  for (const std::size_t column : query.group_by) fields.push_back(table.fields[column]);
  for (const Aggregation& aggregate : query.aggregates) {
    Domain domain{Kind::int64};
    if (aggregate.function == "avg") domain = {Kind::float64};
    if (aggregate.function == "sum" || aggregate.function == "min" || aggregate.function == "max") {
      domain = aggregate.argument->domain;
    }
    fields.push_back({aggregate.name, domain});
  }
  return fields;
}

Answer answer(const Query& query, const Relation& table) {
  evaluate_everywhere(query.where, table);
  for (const Aggregation& aggregate : query.aggregates) evaluate_everywhere(aggregate.argument, table);
  Candidates rows = all_rows(table);
  if (query.where) {
    std::erase_if(rows, [&](const Candidate& candidate) {
      const Cell passes = evaluate(*query.where, table.rows[candidate.row]);
      return is_null(passes) || !std::get<bool>(passes);
    });
  }
  const bool groups = !query.group_by.empty();
  const Relation relation = groups ? grouped(query, table, rows) : table;
  if (groups) rows = all_rows(relation);
  for (const Ranking& term : query.rank_by) evaluate_everywhere(term.expression, relation);
  for (const Output& output : query.select) evaluate_everywhere(output.expression, relation);
  Answer result;
  result.refused = !apply_missing_rules(query, relation, rows);
  if (result.refused) return result;
  const First first{.nan = query.nan == "best", .nulls = query.nulls == "best"};
  const std::optional<Placed> preference =
      query.prefer ? std::optional(placed(*query.prefer, relation.rows, first)) : std::nullopt;
  const std::vector<int> ranks = ranked(query.rank_by, relation.rows, first);
  Candidates answered;
  Candidates kept_rows;
  std::vector<std::size_t> answered_parts;
  std::vector<std::size_t> kept_parts;
  std::size_t number = 0;
  for (const Candidates& part : parts(query.partition_by, relation.rows, rows)) {
    Candidates kept = preference ? preferred(query, *preference, part) : part;
    std::stable_sort(kept.begin(), kept.end(),
                     [&](const auto& a, const auto& b) { return ranks[a.row] < ranks[b.row]; });
    for (const Candidate& candidate : window(query, ranks, kept)) {
      answered.push_back(candidate);
      answered_parts.push_back(number);
    }
    kept_rows.insert(kept_rows.end(), kept.begin(), kept.end());
    kept_parts.insert(kept_parts.end(), kept.size(), number++);
  }
  for (const Candidate& candidate : answered) {
    result.rows.push_back(groups ? relation.first_rows[candidate.row] : static_cast<std::int64_t>(candidate.row));
    if (preference) result.levels.push_back(candidate.level);
  }
  std::vector<Output> outputs = query.select;
  if (outputs.empty()) {
    outputs.push_back({"row", Output::Kind::row});
    for (std::size_t i = 0; i < relation.fields.size(); ++i) {
      const Field& field = relation.fields[i];
      outputs.push_back({field.name, Output::Kind::expression, column(i, field.domain, field.name)});
    }
  }
  for (const Output& output : outputs) {
    result.names.push_back(output.name);
    result.columns.push_back(selected(output, query, relation, answered));
  }
  if (query.ties == "any" && !query.rank_by.empty()) {
    result.places = entries(outputs, query, relation, ranks, answered, answered_parts);
    result.candidates = entries(outputs, query, relation, ranks, kept_rows, kept_parts);
  }
  return result;
}

}  // namespace skyrank::differential
