#include "tests/semantics/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

namespace skyrank::reference {
namespace {

__extension__ using Wide = __int128;  // holds twice the difference of any two 64-bit integers

enum class Outcome { equal, better, worse, incomparable };

Outcome reversed(Outcome outcome) {
  if (outcome == Outcome::better) return Outcome::worse;
  if (outcome == Outcome::worse) return Outcome::better;
  return outcome;
}

Outcome smaller_is_better(int comparison) {
  return comparison < 0 ? Outcome::better : comparison > 0 ? Outcome::worse : Outcome::equal;
}

bool is_null(const Value& value) { return std::holds_alternative<Null>(value); }
bool is_nan(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr && std::isnan(*number);
}
/// 0 for values, 1 for NaN, 2 for NULL: worse and worse.
int absence(const Value& value) { return is_null(value) ? 2 : is_nan(value) ? 1 : 0; }

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

std::optional<Wide> as_integer(const Value& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return *i;
  if (const auto* u = std::get_if<std::uint64_t>(&value)) return *u;
  if (const auto* date = std::get_if<Date>(&value)) return date->days;
  if (const auto* timestamp = std::get_if<Timestamp>(&value)) return timestamp->ticks;
  return std::nullopt;
}

/// A distance, comparable with others of the same term: twice the exact one of integers, or that of floats.
struct Distance {
  Wide twice = 0;
  double floating = 0;
};

int compare(const Distance& a, const Distance& b) {
  return a.twice != b.twice ? three_way(a.twice, b.twice) : three_way(a.floating, b.floating);
}

/// Targets of integers are integers or halves in the tests.
Distance distance(const Value& value, const Value& target) {
  const std::optional<Wide> integer = as_integer(value);
  if (!integer) {
    const std::optional<Wide> whole = as_integer(target);
    const double to = whole ? static_cast<double>(*whole) : std::get<double>(target);
    return {0, std::abs(std::get<double>(value) - to)};
  }
  const std::optional<Wide> whole = as_integer(target);
  const Wide twice_target = whole ? 2 * *whole : static_cast<Wide>(2 * std::get<double>(target));
  const Wide difference = 2 * *integer - twice_target;
  return {difference < 0 ? -difference : difference, 0};
}

bool below(const Value& value, const Value& limit) {
  const std::optional<Wide> integer = as_integer(value);
  const std::optional<Wide> whole = as_integer(limit);
  if (integer && whole) return *integer < *whole;
  const double number = integer ? static_cast<double>(*integer) : std::get<double>(value);
  return number < (whole ? static_cast<double>(*whole) : std::get<double>(limit));
}

bool above(const Value& value, const Value& limit) {
  const std::optional<Wide> integer = as_integer(value);
  const std::optional<Wide> whole = as_integer(limit);
  if (integer && whole) return *integer > *whole;
  const double number = integer ? static_cast<double>(*integer) : std::get<double>(value);
  return number > (whole ? static_cast<double>(*whole) : std::get<double>(limit));
}

Distance distance_to_range(const Value& value, const Value& from, const Value& to) {
  if (below(value, from)) return distance(value, from);
  if (above(value, to)) return distance(value, to);
  return {};
}

std::size_t set_of(const Value& value, const std::vector<std::vector<Value>>& sets) {
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (const Value& member : sets[s]) {
      if (member == value) return s;
    }
  }
  return sets.size();
}

/// How the term orders two values, neither of them absent.
Outcome order_values(const Preference& term, const Value& a, const Value& b) {
  switch (term.kind) {
    case Preference::Kind::low: return smaller_is_better(reference::compare(a, b));
    case Preference::Kind::high: return smaller_is_better(reference::compare(b, a));
    case Preference::Kind::around:
      return smaller_is_better(compare(distance(a, term.target), distance(b, term.target)));
    case Preference::Kind::between:
      return smaller_is_better(
          compare(distance_to_range(a, term.target, term.upper), distance_to_range(b, term.target, term.upper)));
    case Preference::Kind::in: return smaller_is_better(three_way(set_of(a, term.values), set_of(b, term.values)));
    default: throw std::logic_error("no term on values");
  }
}

class Order {
 public:
  explicit Order(const Evaluate& evaluate) : evaluate_(evaluate) {}

  Outcome compare(const Preference& p, RowId a, RowId b, bool inverted = false) const {
    switch (p.kind) {
      case Preference::Kind::inverse: return compare(p.children.front(), a, b, !inverted);
      case Preference::Kind::pareto: return pareto(p, a, b, inverted);
      case Preference::Kind::prior: return prior(p, a, b, inverted);
      case Preference::Kind::where: return where(p, a, b, inverted);
      default: return term(p, a, b, inverted);
    }
  }

 private:
  Outcome pareto(const Preference& p, RowId a, RowId b, bool inverted) const {
    Outcome all = Outcome::equal;
    for (const Preference& child : p.children) {
      const Outcome one = compare(child, a, b, inverted);
      if (one == Outcome::equal) continue;
      if (all == Outcome::equal) all = one;
      if (all != one) return Outcome::incomparable;
    }
    return all;
  }

  Outcome prior(const Preference& p, RowId a, RowId b, bool inverted) const {
    for (const Preference& child : p.children) {
      const Outcome one = compare(child, a, b, inverted);
      if (one != Outcome::equal) return one;
    }
    return Outcome::equal;
  }

  Outcome where(const Preference& p, RowId a, RowId b, bool inverted) const {
    const bool in_a = evaluate_(*p.expression, a) == Value(true);
    const bool in_b = evaluate_(*p.expression, b) == Value(true);
    const Outcome outcome = smaller_is_better(three_way(!in_a, !in_b));
    return inverted ? reversed(outcome) : outcome;
  }

  Outcome term(const Preference& p, RowId a, RowId b, bool inverted) const {
    const Value x = evaluate_(*p.expression, a);
    const Value y = evaluate_(*p.expression, b);
    if (absence(x) != 0 || absence(y) != 0) return smaller_is_better(three_way(absence(x), absence(y)));
    const Outcome outcome = order_values(p, x, y);
    return inverted ? reversed(outcome) : outcome;
  }

  const Evaluate& evaluate_;
};

/// Expressions whose NaN and NULL the rules are about.
void add_expressions(const Preference& preference, std::vector<Expression>& to) {
  if (preference.expression && preference.kind != Preference::Kind::where) to.push_back(*preference.expression);
  for (const Preference& child : preference.children) add_expressions(child, to);
}

bool excluded(const Query& query, const Evaluate& evaluate, RowId row) {
  std::vector<Expression> expressions;
  if (query.preference) add_expressions(*query.preference, expressions);
  for (const RankTerm& term : query.ranking) expressions.push_back(term.expression);
  return std::any_of(expressions.begin(), expressions.end(), [&](const Expression& expression) {
    const Value value = evaluate(expression, row);
    return (is_nan(value) && query.nan_rule == Missing::exclude) ||
           (is_null(value) && query.null_rule == Missing::exclude);
  });
}

/// -1 for a that goes first, +1 for b, 0 for a tie.
int rank(const Query& query, const Evaluate& evaluate, RowId a, RowId b) {
  for (const RankTerm& term : query.ranking) {
    const Value x = evaluate(term.expression, a);
    const Value y = evaluate(term.expression, b);
    const bool absent = absence(x) != 0 || absence(y) != 0;
    const int order = absent ? three_way(absence(x), absence(y)) : reference::compare(x, y) * (term.high ? -1 : 1);
    if (order != 0) return order;
  }
  return 0;
}

struct Row {
  RowId id;
  std::int32_t level;
};

std::vector<Row> without_equals(const Query& query, const Order& order, const std::vector<Row>& rows) {
  std::vector<Row> kept;
  for (const Row& row : rows) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Row& other) {
      return order.compare(*query.preference, other.id, row.id) == Outcome::equal;
    });
    if (!known) kept.push_back(row);
  }
  return kept;
}

std::vector<Row> preferred(const Query& query, const Evaluate& evaluate, std::vector<Row> rest) {
  if (!query.preference) return rest;
  const Order order(evaluate);
  if (query.only_distinct) rest = without_equals(query, order, rest);
  std::vector<Row> kept;
  const std::int64_t levels =
      query.at_least_rows ? std::numeric_limits<std::int64_t>::max() : query.num_levels.value_or(1);
  const auto enough = [&] {
    return query.at_least_rows && static_cast<std::int64_t>(kept.size()) >= *query.at_least_rows;
  };
  for (std::int32_t level = 1; level <= levels && !enough() && !rest.empty(); ++level) {
    std::vector<Row> best;
    std::vector<Row> others;
    for (const Row& row : rest) {
      const bool beaten = std::any_of(rest.begin(), rest.end(), [&](const Row& other) {
        return order.compare(*query.preference, other.id, row.id) == Outcome::better;
      });
      (beaten ? others : best).push_back({row.id, level});
    }
    kept.insert(kept.end(), best.begin(), best.end());
    rest = std::move(others);
  }
  std::sort(kept.begin(), kept.end(), [](const Row& a, const Row& b) { return a.id < b.id; });
  return kept;
}

/// Offset, limit and ties of rows that are in order.
std::vector<Row> window(const Query& query, const Evaluate& evaluate, std::vector<Row> rows) {
  const auto n = static_cast<std::int64_t>(rows.size());
  if (query.max_rows == 0) return {};
  const std::int64_t begin = std::min(query.skip, n);
  const std::int64_t end = query.max_rows ? begin + std::min(*query.max_rows, n - begin) : n;
  if (begin == end) return {};
  const bool ties_matter = !query.ranking.empty() && end < n;
  const auto tied = [&](const Row& row) { return rank(query, evaluate, row.id, rows[end - 1].id) == 0; };
  if (ties_matter && query.tie_rule == Ties::all) {
    std::int64_t last = end;
    while (last < n && tied(rows[last])) ++last;
    return {rows.begin() + begin, rows.begin() + last};
  }
  std::vector<Row> answer(rows.begin() + begin, rows.begin() + end);
  if (!ties_matter || query.tie_rule != Ties::last) return answer;
  std::vector<Row> candidates;  // of the places that tied rows hold, the highest ids get them
  for (std::int64_t i = begin; i < n; ++i) {
    if (tied(rows[i])) candidates.push_back(rows[i]);
  }
  const auto places = std::count_if(answer.begin(), answer.end(), tied);
  std::copy(candidates.end() - places, candidates.end(), answer.end() - places);
  return answer;
}

/// Equal for values of one partition.
std::string partition_key(const Value& value) {
  if (is_null(value)) return "null";
  if (is_nan(value)) return "nan";
  const auto* number = std::get_if<double>(&value);
  if (number != nullptr && *number == 0) return "=0";
  return "=" + to_string(value);
}

std::vector<std::vector<Row>> partitions(const Query& query, const Evaluate& evaluate, const std::vector<Row>& rows) {
  std::map<std::vector<std::string>, std::size_t> known;
  std::vector<std::vector<Row>> result;
  for (const Row& row : rows) {
    std::vector<std::string> key;
    for (const Expression& column : query.partition_columns) key.push_back(partition_key(evaluate(column, row.id)));
    const auto [place, is_new] = known.emplace(std::move(key), result.size());
    if (is_new) result.emplace_back();
    result[place->second].push_back(row);
  }
  return result;
}

}  // namespace

Evaluate columns(const Table& table) {
  return
      [&table](const Expression& expression, RowId row) { return table.column(expression.column_name()).value(row); };
}

Answer answer(const Query& query, const Table& table, const Evaluate& evaluate) {
  std::vector<Row> rows;
  for (RowId row = 0; row < table.num_rows(); ++row) {
    const bool passes = !query.condition || evaluate(*query.condition, row) == Value(true);
    if (passes && !excluded(query, evaluate, row)) rows.push_back({row, 0});
  }
  Answer result;
  for (const std::vector<Row>& partition : partitions(query, evaluate, rows)) {
    std::vector<Row> kept = preferred(query, evaluate, partition);
    std::stable_sort(kept.begin(), kept.end(),
                     [&](const Row& a, const Row& b) { return rank(query, evaluate, a.id, b.id) < 0; });
    for (const Row& row : window(query, evaluate, std::move(kept))) {
      result.rows.push_back(row.id);
      if (query.preference) result.levels.push_back(row.level);
    }
  }
  return result;
}

int compare(const Value& a, const Value& b) {
  const std::optional<Wide> x = as_integer(a);
  const std::optional<Wide> y = as_integer(b);
  if (x && y) return three_way(*x, *y);
  if (const auto* number = std::get_if<double>(&a)) return three_way(*number, std::get<double>(b));
  if (const auto* truth = std::get_if<bool>(&a)) return three_way(*truth, std::get<bool>(b));
  return three_way(std::get<std::string>(a), std::get<std::string>(b));
}

}  // namespace skyrank::reference
