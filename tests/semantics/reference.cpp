#include "tests/semantics/reference.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

namespace skyrank::reference {
namespace {

__extension__ using Wide = __int128;  // holds twice the difference of any two 64-bit integers

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
/// The rules for NaN and NULL.
struct MissingRules {
  Missing nan = Missing::worst;
  Missing nulls = Missing::worst;
};

/// 0 for values, 1 for NaN, 2 for NULL: worse and worse. Where they are best -1 for NaN and -2 for NULL.
int absence(const Value& value, MissingRules rules = {}) {
  if (is_null(value)) return rules.nulls == Missing::best ? -2 : 2;
  if (is_nan(value)) return rules.nan == Missing::best ? -1 : 1;
  return 0;
}

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

/// Numbers but floats as multiples of 10^-kScale, the smallest decimal of the tests, so that all compare; times too.
constexpr int kScale = 4;
Wide scaled(Wide value, int scale) {
  for (; scale < kScale; ++scale) value *= 10;
  return value;
}

std::optional<Wide> as_integer(const Value& value);

std::optional<Wide> as_exact(const Value& value) {
  if (const auto* decimal = std::get_if<Decimal>(&value)) return scaled(decimal->unscaled, decimal->scale);
  const std::optional<Wide> integer = as_integer(value);
  return integer ? std::optional(scaled(*integer, 0)) : std::nullopt;
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
  const std::optional<Wide> integer = as_exact(value);
  if (!integer) {
    const std::optional<Wide> whole = as_integer(target);
    const double to = whole ? static_cast<double>(*whole) : std::get<double>(target);
    const double x = std::get<double>(value);
    return {0, x == to ? 0.0 : std::abs(x - to)};  // also of infinities
  }
  const std::optional<Wide> whole = as_exact(target);
  if (!whole && std::isinf(std::get<double>(target))) return {0, kInfinity};
  const Wide twice_target = whole ? 2 * *whole : scaled(static_cast<Wide>(2 * std::get<double>(target)), 0);
  const Wide difference = 2 * *integer - twice_target;
  return {difference < 0 ? -difference : difference, 0};
}

bool below(const Value& value, const Value& limit) {
  if (std::holds_alternative<Null>(limit)) return false;
  const std::optional<Wide> integer = as_exact(value);
  const std::optional<Wide> whole = as_exact(limit);
  if (integer && whole) return *integer < *whole;
  if (integer && std::isinf(std::get<double>(limit))) return std::get<double>(limit) > 0;
  // Limits between integers are halves.
  if (integer) return 2 * *integer < scaled(static_cast<Wide>(2 * std::get<double>(limit)), 0);
  const double number = std::get<double>(value);
  return number < (whole ? static_cast<double>(*as_integer(limit)) : std::get<double>(limit));
}

bool above(const Value& value, const Value& limit) {
  if (std::holds_alternative<Null>(limit)) return false;
  const std::optional<Wide> integer = as_exact(value);
  const std::optional<Wide> whole = as_exact(limit);
  if (integer && whole) return *integer > *whole;
  if (integer && std::isinf(std::get<double>(limit))) return std::get<double>(limit) < 0;
  // Limits between integers are halves.
  if (integer) return 2 * *integer > scaled(static_cast<Wide>(2 * std::get<double>(limit)), 0);
  const double number = std::get<double>(value);
  return number > (whole ? static_cast<double>(*as_integer(limit)) : std::get<double>(limit));
}

Distance distance_to_range(const Value& value, const Value& from, const Value& to) {
  if (below(value, from)) return distance(value, from);
  if (above(value, to)) return distance(value, to);
  return {};
}

std::size_t set_of(const Value& value, const std::vector<std::vector<Value>>& sets) {
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (const Value& member : sets[s]) {
      if (as_exact(value) ? as_exact(value) == as_exact(member) : member == value) return s;
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

/// Rows with the values of their columns: a table, or the groups of one.
struct Relation {
  std::int64_t num_rows = 0;
  std::function<Value(std::string_view, RowId)> cell;
  std::vector<std::string> columns;
};

/// The relation with the keys of partitions that have names as further columns.
Relation with_keys(const Relation& input, const std::vector<GroupKey>& keys, const Evaluate& evaluate) {
  Relation extended = input;
  for (const GroupKey& key : keys) {
    if (!key.is_column()) extended.columns.push_back(key.name);
  }
  extended.cell = [&](std::string_view name, RowId row) {
    const auto key = std::ranges::find_if(
        keys, [&](const GroupKey& candidate) { return !candidate.is_column() && candidate.name == name; });
    if (key == keys.end()) return input.cell(name, row);
    return evaluate(key->expression, [&](std::string_view column) { return input.cell(column, row); });
  };
  return extended;
}

Relation relation_of(const Table& table) {
  Relation relation{
      table.num_rows(), [&table](std::string_view name, RowId row) { return table.column(name).value(row); }, {}};
  for (const Column& column : table.columns()) relation.columns.push_back(column.name());
  return relation;
}

/// The values of expressions over a relation, each computed once.
class Values {
 public:
  Values(const Relation& relation, const Evaluate& evaluate) : relation_(relation), evaluate_(evaluate) {}

  const Value& operator()(const Expression& expression, RowId row) const {
    const auto measure = measures_.find(expression.text());
    if (measure != measures_.end()) return measure->second.at(row);
    std::vector<Value>& known = known_[&query::root_of(expression)];
    if (known.empty()) {
      for (RowId i = 0; i < relation_.num_rows; ++i) {
        known.push_back(evaluate_(expression, [&](std::string_view name) { return relation_.cell(name, i); }));
      }
    }
    return known[static_cast<std::size_t>(row)];
  }

  const Relation& relation() const { return relation_; }

  /// Notes what a function of rows, such as level(), gives for a row.
  void measure(const std::string& call, RowId row, Value value) const { measures_[call][row] = std::move(value); }

 private:
  const Relation& relation_;
  const Evaluate& evaluate_;
  mutable std::map<std::string, std::map<RowId, Value>> measures_;
  mutable std::unordered_map<const query::Node*, std::vector<Value>> known_;
};

class Order {
 public:
  Order(const Values& evaluate, MissingRules missing) : evaluate_(evaluate), missing_(missing) {}

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
    const Value& x = evaluate_(*p.expression, a);
    const Value& y = evaluate_(*p.expression, b);
    if (absence(x) != 0 || absence(y) != 0) {
      return smaller_is_better(three_way(absence(x, missing_), absence(y, missing_)));
    }
    const Outcome outcome = order_values(p, x, y);
    return inverted ? reversed(outcome) : outcome;
  }

  const Values& evaluate_;
  MissingRules missing_;
};

/// Expressions whose NaN and NULL the rules are about.
void add_expressions(const Preference& preference, std::vector<Expression>& to) {
  if (preference.expression && preference.kind != Preference::Kind::where) to.push_back(*preference.expression);
  for (const Preference& child : preference.children) add_expressions(child, to);
}

/// Returns true for a function of rows: level(), dominates(), ...
bool is_measure(const Expression& expression) {
  const std::string_view name = expression.column_name();
  return name.ends_with(')') && expression.text() == name;
}

/// Returns the functions of rows by which a query ranks, or which it selects.
std::vector<Expression> measures_of(const Query& query) {
  std::vector<Expression> found;
  for (const RankTerm& term : query.rank_by()) {
    if (is_measure(term.expression)) found.push_back(term.expression);
  }
  for (const SelectItem& item : query.select()) {
    if (is_measure(item.expression)) found.push_back(item.expression);
  }
  return found;
}

/// Returns true if the answer tells levels: those of all rows only where the query asks for them.
bool tells_levels(const Query& query) {
  const auto measures_level = [](const Expression& measure) {
    return measure.column_name() != "dominates()" && measure.column_name() != "dominated_by()";
  };
  const auto is_level = [](const SelectItem& item) { return item.expression.text() == "level"; };
  return query.prefer() && (query.skyband() != kAllRows || std::ranges::any_of(measures_of(query), measures_level) ||
                            std::ranges::any_of(query.select(), is_level));
}

bool excluded(const Query& query, const Values& evaluate, RowId row) {
  std::vector<Expression> expressions;
  if (query.prefer()) add_expressions(*query.prefer(), expressions);
  for (const RankTerm& term : query.rank_by()) {
    if (!is_measure(term.expression)) expressions.push_back(term.expression);
  }
  return std::any_of(expressions.begin(), expressions.end(), [&](const Expression& expression) {
    const Value& value = evaluate(expression, row);
    return (is_nan(value) && query.nan() == Missing::exclude) || (is_null(value) && query.nulls() == Missing::exclude);
  });
}

/// -1 for a that goes first, +1 for b, 0 for a tie.
int rank(const Query& query, const Values& evaluate, RowId a, RowId b) {
  for (const RankTerm& term : query.rank_by()) {
    const Value& x = evaluate(term.expression, a);
    const Value& y = evaluate(term.expression, b);
    const bool absent = absence(x) != 0 || absence(y) != 0;
    const MissingRules rules{query.nan(), query.nulls()};
    const int order =
        absent ? three_way(absence(x, rules), absence(y, rules)) : reference::compare(x, y) * (term.high ? -1 : 1);
    if (order != 0) return order;
  }
  return 0;
}

struct Candidate {
  RowId id;
  std::int32_t level;
};

std::vector<Candidate> without_equals(const Query& query, const Order& order, const std::vector<Candidate>& rows) {
  std::vector<Candidate> kept;
  for (const Candidate& row : rows) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
      return order.compare(*query.prefer(), other.id, row.id) == Outcome::equal;
    });
    if (!known) kept.push_back(row);
  }
  return kept;
}

/// A number as a float64; nothing for NaN and NULL.
std::optional<double> float_of(const Value& value) {
  if (absence(value) != 0) return std::nullopt;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* decimal = std::get_if<Decimal>(&value)) {
    return static_cast<double>(decimal->unscaled) / std::pow(10.0, decimal->scale);
  }
  return static_cast<double>(*as_integer(value));
}

/// A row as a point whose coordinates are better the less they are.
using Point = std::vector<double>;

/// The volume of what points dominate up to another, cell by cell of the grid through all of them.
double volume(const std::vector<Point>& points, const Point& reference, std::size_t dim = 0) {
  if (dim == reference.size()) return points.empty() ? 0 : 1;
  std::vector<double> cuts;
  for (const Point& point : points) {
    if (point[dim] < reference[dim]) cuts.push_back(point[dim]);
  }
  std::ranges::sort(cuts);
  cuts.push_back(reference[dim]);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    std::vector<Point> there;
    std::ranges::copy_if(points, std::back_inserter(there), [&](const Point& point) { return point[dim] <= cuts[i]; });
    if (cuts[i] < cuts[i + 1]) sum += (cuts[i + 1] - cuts[i]) * volume(there, reference, dim + 1);
  }
  return sum;
}

/// A term of a flat preference.
struct ValueTerm {
  Expression expression;
  bool high = false;
};

void add_terms(const Preference& preference, bool inverted, std::vector<ValueTerm>& terms) {
  if (preference.is_term()) {
    terms.push_back({*preference.expression, (preference.kind == Preference::Kind::high) != inverted});
  }
  const bool inverts = preference.kind == Preference::Kind::inverse;
  for (const Preference& child : preference.children) add_terms(child, inverted != inverts, terms);
}

/// Measures of the rows of one Pareto level, of which none lacks a value.
class LevelMeasures {
 public:
  LevelMeasures(const Query& query, const Values& evaluate, const std::vector<Candidate>& level) {
    std::vector<ValueTerm> terms;
    add_terms(*query.prefer(), false, terms);
    for (const Candidate& row : level) {
      std::vector<double> values;
      for (const ValueTerm& term : terms) {
        if (const auto value = float_of(evaluate(term.expression, row.id))) values.push_back(*value);
      }
      if (values.size() == terms.size()) rows_[row.id] = std::move(values);
    }
    for (const ValueTerm& term : terms) high_.push_back(term.high);
  }

  Value crowding(RowId row) const {
    if (!rows_.contains(row)) return Null{};
    double sum = 0;
    for (std::size_t t = 0; t < high_.size(); ++t) {
      std::vector<std::pair<double, RowId>> order;
      for (const auto& [other, values] : rows_) order.emplace_back(values[t], other);
      std::ranges::sort(order);
      if (order.front().first == order.back().first) continue;
      const auto place = std::ranges::find(order, row, [](const auto& one) { return one.second; });
      if (place == order.begin() || place + 1 == order.end()) return kInfinity;
      const double before = (place - 1)->first / 2;
      const double after = (place + 1)->first / 2;
      if (after > before) sum += (after - before) / span(t);
    }
    return sum;
  }

  Value compromise(RowId row, const std::vector<double>& weights) const {
    if (!rows_.contains(row)) return Null{};
    double worst = -kInfinity;
    for (std::size_t t = 0; t < high_.size(); ++t) {
      const double weight = weights.empty() ? 1 : weights[t];
      if (weight == 0) continue;
      const auto [least, greatest] = finite_range(t);
      const double ideal = greatest < least ? 0 : high_[t] ? greatest : least;
      const double value = rows_.at(row)[t] / 2;
      worst = std::max(worst, weight * ((high_[t] ? ideal - value : value - ideal) / span(t)) + 0.0);
    }
    return worst;
  }

  /// Exact for small integers.
  Value contribution(RowId row, const std::vector<double>& reference) const {
    if (!rows_.contains(row)) return Null{};
    if (!is_finite(row)) return Null{};
    const Point own = point_of(rows_.at(row));
    const Point limits = point_of(reference);
    std::vector<Point> shared;
    for (const auto& [other, values] : rows_) {
      if (other == row || !is_finite(other)) continue;
      Point& both = shared.emplace_back(point_of(values));
      for (std::size_t t = 0; t < both.size(); ++t) both[t] = std::max(both[t], own[t]);
    }
    return volume({own}, limits) - volume(shared, limits);
  }

 private:
  /// Ends of the finite values, halved; the first above the second where there are none.
  std::pair<double, double> finite_range(std::size_t t) const {
    double least = kInfinity;
    double greatest = -least;
    for (const auto& [row, values] : rows_) {
      if (!std::isfinite(values[t])) continue;
      least = std::min(least, values[t] / 2);
      greatest = std::max(greatest, values[t] / 2);
    }
    return {least, greatest};
  }

  double span(std::size_t t) const {
    const auto [least, greatest] = finite_range(t);
    return greatest > least ? greatest - least : 1;
  }

  /// Returns true if no value is infinitely good.
  bool is_finite(RowId row) const {
    const std::vector<double>& values = rows_.at(row);
    for (std::size_t t = 0; t < high_.size(); ++t) {
      if (std::isinf(values[t]) && (values[t] > 0) == high_[t]) return false;
    }
    return true;
  }

  Point point_of(const std::vector<double>& values) const {
    Point point;
    for (std::size_t t = 0; t < high_.size(); ++t) point.push_back(high_[t] ? -values[t] : values[t]);
    return point;
  }

  std::map<RowId, std::vector<double>> rows_;
  std::vector<bool> high_;
};

/// Returns the numbers in a call such as contribution(1, 0.5).
std::vector<double> numbers_in(const std::string& call) {
  std::vector<double> numbers;
  std::size_t at = call.find('(') + 1;
  while (call[at] != ')') {
    std::size_t size = 0;
    numbers.push_back(std::stod(call.substr(at), &size));
    at += size;
    if (call[at] == ',') at += 2;
  }
  return numbers;
}

/// Notes the measures of the rows that are kept of `all`; `leveled` has whole levels, those of the kept rows among
/// them.
void measure(const Query& query, const Values& evaluate, const Order& order, const std::vector<Candidate>& all,
             const std::vector<Candidate>& leveled, const std::vector<Candidate>& kept) {
  const auto number = [&](RowId row, Outcome outcome) {
    return std::ranges::count_if(
        all, [&](const Candidate& other) { return order.compare(*query.prefer(), row, other.id) == outcome; });
  };
  for (const Expression& call : measures_of(query)) {
    const std::string name = call.text();
    std::map<std::int32_t, LevelMeasures> levels;
    const auto of_level = [&](const Candidate& row) -> const LevelMeasures& {
      std::vector<Candidate> level;
      std::ranges::copy_if(leveled, std::back_inserter(level),
                           [&](const Candidate& other) { return other.level == row.level; });
      return levels.try_emplace(row.level, query, evaluate, level).first->second;
    };
    for (const Candidate& row : kept) {
      Value value = std::int64_t{row.level};
      if (name == "crowding()") value = of_level(row).crowding(row.id);
      if (name.starts_with("compromise(")) value = of_level(row).compromise(row.id, numbers_in(name));
      if (name.starts_with("contribution(")) value = of_level(row).contribution(row.id, numbers_in(name));
      if (name == "dominated_by()") value = std::int64_t{number(row.id, Outcome::worse)};
      if (name == "dominates()") value = std::int64_t{number(row.id, Outcome::better)};
      evaluate.measure(name, row.id, value);
    }
  }
}

/// Returns the rows that fewer than `rows` of all dominate.
std::vector<Candidate> skyband(const Query& query, const Order& order, const std::vector<Candidate>& all,
                               std::int64_t rows) {
  std::vector<Candidate> kept;
  for (const Candidate& row : all) {
    const auto number = std::ranges::count_if(all, [&](const Candidate& other) {
      return order.compare(*query.prefer(), other.id, row.id) == Outcome::better;
    });
    if (number < rows) kept.push_back(row);
  }
  return kept;
}

std::vector<Candidate> preferred(const Query& query, const Values& evaluate, std::vector<Candidate> rest) {
  if (!query.prefer()) return rest;
  const Order order(evaluate, {query.nan(), query.nulls()});
  if (query.distinct()) rest = without_equals(query, order, rest);
  std::vector<Candidate> kept;
  const std::vector<Candidate> all = rest;
  const std::int64_t levels =
      query.at_least() || query.skyband() ? std::numeric_limits<std::int64_t>::max() : query.levels().value_or(1);
  const auto enough = [&] { return query.at_least() && static_cast<std::int64_t>(kept.size()) >= *query.at_least(); };
  for (std::int32_t level = 1; level <= levels && !enough() && !rest.empty(); ++level) {
    std::vector<Candidate> best;
    std::vector<Candidate> others;
    for (const Candidate& row : rest) {
      const bool beaten = std::any_of(rest.begin(), rest.end(), [&](const Candidate& other) {
        return order.compare(*query.prefer(), other.id, row.id) == Outcome::better;
      });
      (beaten ? others : best).push_back({row.id, level});
    }
    kept.insert(kept.end(), best.begin(), best.end());
    rest = std::move(others);
  }
  std::sort(kept.begin(), kept.end(), [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  const std::vector<Candidate> leveled = kept;
  if (query.skyband()) kept = skyband(query, order, kept, *query.skyband());
  measure(query, evaluate, order, all, leveled, kept);
  return kept;
}

/// The `low` and `high` terms that `pick` weighs: those of the last part of `prior`.
void add_picked_terms(const Preference& preference, bool inverted, std::vector<Preference>& terms) {
  if (preference.kind == Preference::Kind::prior) return add_picked_terms(preference.children.back(), inverted, terms);
  if (preference.is_term()) {
    const bool high = (preference.kind == Preference::Kind::high) != inverted;
    terms.push_back(high ? skyrank::high(*preference.expression) : skyrank::low(*preference.expression));
  }
  const bool flips = preference.kind == Preference::Kind::inverse;
  for (const Preference& child : preference.children) add_picked_terms(child, inverted != flips, terms);
}

double as_float(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  if (const auto* decimal = std::get_if<Decimal>(&value)) {
    return static_cast<double>(static_cast<long double>(decimal->unscaled) / std::pow(10.0L, decimal->scale));
  }
  return static_cast<double>(*as_integer(value));
}

Point point_of(const Query& query, const Values& evaluate, RowId row) {
  std::vector<Preference> terms;
  add_picked_terms(*query.prefer(), false, terms);
  Point point;
  for (const Preference& term : terms) {
    const Value& value = evaluate(*term.expression, row);
    if (is_null(value)) {
      point.push_back(query.nulls() == Missing::best ? -kInfinity : kInfinity);
    } else if (is_nan(value)) {
      point.push_back(kInfinity);
    } else {
      point.push_back(term.kind == Preference::Kind::high ? -as_float(value) : as_float(value));
    }
  }
  return point;
}

/// Places between the best and the worst finite value of each coordinate.
void scale(std::vector<Point>& points) {
  for (std::size_t dim = 0; dim < points.front().size(); ++dim) {
    double best = kInfinity;
    double worst = -kInfinity;
    for (const Point& point : points) {
      if (!std::isfinite(point[dim])) continue;
      best = std::min(best, point[dim]);
      worst = std::max(worst, point[dim]);
    }
    for (Point& point : points) {
      double& value = point[dim];
      value = !std::isfinite(value) ? (value < 0 ? 0 : 1) : worst > best ? (value - best) / (worst - best) : 0;
    }
  }
}

/// A few of the rows `kept`, which a preference keeps of `all`: always the first of those with most gain.
std::vector<Candidate> picked(const Query& query, const Values& evaluate, const std::vector<Candidate>& all,
                              const std::vector<Candidate>& kept) {
  if (!query.pick() || kept.empty()) return kept;
  const Pick& pick = *query.pick();
  const Order order(evaluate, {query.nan(), query.nulls()});
  const auto dominates = [&](const Candidate& a, const Candidate& b) {
    return order.compare(*query.prefer(), a.id, b.id) == Outcome::better;
  };
  std::vector<Point> points;
  if (pick.by != Pick::By::coverage) {
    for (const Candidate& row : kept) points.push_back(point_of(query, evaluate, row.id));
  }
  std::vector<std::size_t> chosen;
  const auto is_chosen = [&](std::size_t i) { return std::ranges::find(chosen, i) != chosen.end(); };
  if (pick.by == Pick::By::distance) {
    chosen.push_back(static_cast<std::size_t>(
        std::ranges::min_element(points, {}, [](const Point& point) { return point[0]; }) - points.begin()));
    scale(points);
  }
  Point reference;
  for (std::size_t i = 0; i < pick.reference.size(); ++i) {
    std::vector<Preference> terms;
    add_picked_terms(*query.prefer(), false, terms);
    reference.push_back(terms[i].kind == Preference::Kind::high ? -pick.reference[i] : pick.reference[i]);
  }
  const auto gain = [&](std::size_t i) -> double {
    double least = kInfinity;
    std::vector<Point> volumes;
    switch (pick.by) {
      case Pick::By::distance:
        for (const std::size_t other : chosen) {
          double sum = 0;
          for (std::size_t dim = 0; dim < points[i].size(); ++dim) {
            sum += (points[i][dim] - points[other][dim]) * (points[i][dim] - points[other][dim]);
          }
          least = std::min(least, sum);
        }
        return least;
      case Pick::By::coverage:
        return static_cast<double>(std::ranges::count_if(all, [&](const Candidate& row) {
          return dominates(kept[i], row) &&
                 std::ranges::none_of(chosen, [&](std::size_t other) { return dominates(kept[other], row); });
        }));
      case Pick::By::hypervolume: break;
    }
    const auto has_volume = [&](std::size_t place) {
      return std::ranges::all_of(points[place], [](double value) { return std::isfinite(value); });
    };
    for (const std::size_t other : chosen) {
      if (has_volume(other)) volumes.push_back(points[other]);
    }
    const double before = volume(volumes, reference);
    if (has_volume(i)) volumes.push_back(points[i]);
    return volume(volumes, reference) - before;
  };
  while (std::ssize(chosen) < pick.count && chosen.size() < kept.size()) {
    double most = -1;
    std::size_t next = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const double found = is_chosen(i) ? -1 : gain(i);
      if (found > most) {
        most = found;
        next = i;
      }
    }
    chosen.push_back(next);
  }
  std::ranges::sort(chosen);
  std::vector<Candidate> rows;
  for (const std::size_t i : chosen) rows.push_back(kept[i]);
  return rows;
}

/// Offset, limit and ties of rows that are in order.
std::vector<Candidate> window(const Query& query, const Values& evaluate, std::vector<Candidate> rows) {
  const auto n = static_cast<std::int64_t>(rows.size());
  if (query.limit() == 0) return {};
  const std::int64_t begin = std::min(query.offset(), n);
  const std::int64_t end = query.limit() ? begin + std::min(*query.limit(), n - begin) : n;
  if (begin == end) return {};
  const bool ties_matter = !query.rank_by().empty() && end < n;
  const auto tied = [&](const Candidate& row) { return rank(query, evaluate, row.id, rows[end - 1].id) == 0; };
  if (ties_matter && query.ties() == Ties::all) {
    std::int64_t last = end;
    while (last < n && tied(rows[last])) ++last;
    return {rows.begin() + begin, rows.begin() + last};
  }
  std::vector<Candidate> answer(rows.begin() + begin, rows.begin() + end);
  if (!ties_matter || query.ties() != Ties::last) return answer;
  std::vector<Candidate> candidates;  // of the places that tied rows hold, the highest ids get them
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

/// Rows by the values of some columns, in order of the first row of each part.
std::vector<std::vector<Candidate>> partitions(const std::vector<GroupKey>& keys, const Values& evaluate,
                                               const std::vector<Candidate>& rows) {
  std::map<std::vector<std::string>, std::size_t> known;
  std::vector<std::vector<Candidate>> result;
  for (const Candidate& row : rows) {
    std::vector<std::string> key;
    for (const GroupKey& part : keys) key.push_back(partition_key(evaluate(part.expression, row.id)));
    const auto [place, is_new] = known.emplace(std::move(key), result.size());
    if (is_new) result.emplace_back();
    result[place->second].push_back(row);
  }
  return result;
}

Value value_of(Wide integer) {
  if (integer > std::numeric_limits<std::int64_t>::max()) return static_cast<std::uint64_t>(integer);
  return static_cast<std::int64_t>(integer);
}

/// The first of the values that has none before it; NaN comes after all numbers.
Value extreme(const std::vector<Value>& values, bool highest) {
  const auto before = [&](const Value& a, const Value& b) {
    if (is_nan(a) || is_nan(b)) return !is_nan(a) && is_nan(b);
    return highest ? reference::compare(a, b) > 0 : reference::compare(a, b) < 0;
  };
  return *std::min_element(values.begin(), values.end(), before);
}

/// The exact sum of floats, rounded once: a list of numbers that do not overlap holds it (Shewchuk, "Adaptive Precision
/// Floating-Point Arithmetic", 1997). The numbers are long doubles, in which no sum of doubles overflows.
double rounded_sum(const std::vector<Value>& values) {
  std::vector<long double> terms;  // ascending by magnitude
  for (const Value& value : values) {
    long double carried = std::get<double>(value);
    if (!std::isfinite(carried)) {
      double sum = 0;
      for (const Value& any : values) sum += std::isfinite(std::get<double>(any)) ? 0 : std::get<double>(any);
      return sum;
    }
    std::vector<long double> next;
    for (const long double term : terms) {
      const long double sum = carried + term;
      const long double part = sum - carried;
      const long double error = (carried - (sum - part)) + (term - part);
      if (error != 0) next.push_back(error);
      carried = sum;
    }
    next.push_back(carried);
    terms = std::move(next);
  }
  long double high = 0;
  long double rest = 0;
  while (!terms.empty() && rest == 0) {
    const long double sum = high + terms.back();
    rest = terms.back() - (sum - high);
    high = sum;
    terms.pop_back();
  }
  const auto nearest = static_cast<double>(high);
  const long double left = high - nearest;
  if (left == 0 || (left > 0) != (rest > 0) || rest == 0) return nearest + 0.0;
  // In the middle of two floats, what is left decides.
  const double neighbour = std::nextafter(nearest, left > 0 ? HUGE_VAL : -HUGE_VAL);
  return 2 * left == static_cast<long double>(neighbour) - nearest ? neighbour : nearest;
}

Value sum_or_average(const std::vector<Value>& values, bool average) {
  const auto n = static_cast<double>(values.size());
  if (std::holds_alternative<double>(values.front())) {
    const double sum = rounded_sum(values);
    return average ? sum / n : sum;
  }
  Wide sum = 0;
  if (const auto* decimal = std::get_if<Decimal>(&values.front())) {
    for (const Value& value : values) sum += std::get<Decimal>(value).unscaled;
    const double unit = std::pow(10.0, decimal->scale);
    return average ? Value(static_cast<double>(sum) / (n * unit)) : Value(Decimal{sum, decimal->scale});
  }
  for (const Value& value : values) sum += *as_integer(value);
  return average ? Value(static_cast<double>(sum) / n) : value_of(sum);
}

Value aggregate(const Aggregate& aggregate, const Values& evaluate, const std::vector<Candidate>& group) {
  std::vector<Value> values;
  for (const Candidate& row : group) {
    const Value value = aggregate.argument ? evaluate(*aggregate.argument, row.id) : Value(true);
    if (!is_null(value)) values.push_back(value);
  }
  if (aggregate.function == Aggregate::Function::count) return static_cast<std::int64_t>(values.size());
  if (values.empty()) return Null{};
  switch (aggregate.function) {
    case Aggregate::Function::min: return extreme(values, false);
    case Aggregate::Function::max: return extreme(values, true);
    default: return sum_or_average(values, aggregate.function == Aggregate::Function::avg);
  }
}

/// The groups of some rows, with the values that each has by name.
struct Groups {
  std::vector<RowId> first_rows;
  std::vector<std::string> columns;
  std::map<std::string, std::vector<Value>, std::less<>> values;
};

Groups grouped(const Query& query, const Values& evaluate, const std::vector<Candidate>& rows) {
  Groups groups;
  for (const GroupKey& key : query.group_by()) groups.columns.push_back(key.name);
  for (const Aggregate& item : query.aggregate()) groups.columns.push_back(item.name);
  for (const std::string& name : groups.columns) groups.values[name];
  for (const std::vector<Candidate>& group : partitions(query.group_by(), evaluate, rows)) {
    groups.first_rows.push_back(group.front().id);
    for (const GroupKey& key : query.group_by()) {
      groups.values[key.name].push_back(evaluate(key.expression, group.front().id));
    }
    for (const Aggregate& item : query.aggregate())
      groups.values[item.name].push_back(aggregate(item, evaluate, group));
  }
  return groups;
}

/// The selected columns of rows of the answer; `first_rows` are those of groups, none without.
std::vector<std::vector<Value>> selected(const Query& query, const Values& evaluate, const Answer& answer,
                                         const std::vector<RowId>& first_rows) {
  const std::vector<std::string>& columns = evaluate.relation().columns;
  std::vector<SelectItem> items = query.select();
  if (items.empty()) {
    items.push_back({"row", Expression("row")});
    for (const std::string& name : columns) items.push_back({name, Expression::column(name)});
  }
  std::vector<std::vector<Value>> cells;
  for (const SelectItem& item : items) {
    std::vector<Value>& values = cells.emplace_back();
    const std::string_view name = item.expression.column_name();
    const bool is_column = std::find(columns.begin(), columns.end(), name) != columns.end();
    for (std::size_t i = 0; i < answer.rows.size(); ++i) {
      const RowId row = answer.rows[i];
      if (is_measure(item.expression)) {
        values.push_back(evaluate(item.expression, row));
      } else if (!is_column && name == "row") {
        values.emplace_back(first_rows.empty() ? row : first_rows[static_cast<std::size_t>(row)]);
      } else if (!is_column && name == "level") {
        values.emplace_back(std::int64_t{answer.levels[i]});
      } else {
        const bool is_score = !is_column && name == "score";
        values.push_back(evaluate(is_score ? query.rank_by().front().expression : item.expression, row));
      }
    }
  }
  return cells;
}

/// All that comes after `where` and `group_by`.
Answer answer_candidates(const Query& query, const Values& evaluate, std::vector<Candidate> rows,
                         const std::vector<RowId>& first_rows) {
  std::erase_if(rows, [&](const Candidate& row) { return excluded(query, evaluate, row.id); });
  Answer result;
  for (const std::vector<Candidate>& partition : partitions(query.partition_by(), evaluate, rows)) {
    std::vector<Candidate> kept = picked(query, evaluate, partition, preferred(query, evaluate, partition));
    std::stable_sort(kept.begin(), kept.end(),
                     [&](const Candidate& a, const Candidate& b) { return rank(query, evaluate, a.id, b.id) < 0; });
    for (const Candidate& row : window(query, evaluate, std::move(kept))) {
      result.rows.push_back(row.id);
      if (tells_levels(query)) result.levels.push_back(row.level);
    }
  }
  result.cells = selected(query, evaluate, result, first_rows);
  for (RowId& row : result.rows) {
    if (!first_rows.empty()) row = first_rows[static_cast<std::size_t>(row)];
  }
  return result;
}

std::vector<Candidate> candidates(std::int64_t n) {
  std::vector<Candidate> rows;
  for (RowId row = 0; row < n; ++row) rows.push_back({row, 0});
  return rows;
}

}  // namespace

Value column(const Expression& expression, const Row& row) { return row(expression.column_name()); }

Answer answer(const Query& query, const Table& table, const Evaluate& evaluate) {
  const Relation columns = relation_of(table);
  const Relation input = query.group_by().empty() ? with_keys(columns, query.partition_by(), evaluate) : columns;
  const Values values(input, evaluate);
  std::vector<Candidate> rows = candidates(input.num_rows);
  if (query.where()) {
    std::erase_if(rows, [&](const Candidate& row) { return values(*query.where(), row.id) != Value(true); });
  }
  if (query.group_by().empty()) return answer_candidates(query, values, std::move(rows), {});
  const Groups groups = grouped(query, values, rows);
  const Relation derived{
      static_cast<std::int64_t>(groups.first_rows.size()),
      [&](std::string_view name, RowId row) { return groups.values.find(name)->second[static_cast<std::size_t>(row)]; },
      groups.columns};
  return answer_candidates(query, Values(derived, evaluate), candidates(derived.num_rows), groups.first_rows);
}

int compare(const Value& a, const Value& b) {
  const std::optional<Wide> x = as_exact(a);
  const std::optional<Wide> y = as_exact(b);
  if (x && y) return three_way(*x, *y);
  if (const auto* number = std::get_if<double>(&a)) return three_way(*number, std::get<double>(b));
  if (const auto* truth = std::get_if<bool>(&a)) return three_way(*truth, std::get<bool>(b));
  return three_way(std::get<std::string>(a), std::get<std::string>(b));
}

Value box(const Value& value, const Value& size, TimeUnit unit) {
  if (is_null(value) || is_nan(value)) return value;
  if (const auto* number = std::get_if<double>(&value)) {
    const auto* whole = std::get_if<std::int64_t>(&size);
    return std::floor(*number / (whole != nullptr ? static_cast<double>(*whole) : std::get<double>(size)));
  }
  Wide width = 0;
  if (const auto* text = std::get_if<std::string>(&size)) {
    const std::int64_t ticks[] = {1, 1'000, 1'000'000, 1'000'000'000};
    width = scaled(Wide{*text == "2s" ? 2 : 60} * ticks[static_cast<int>(unit)], 0);
  } else {
    const auto* number = std::get_if<double>(&size);
    width = number != nullptr ? static_cast<Wide>(*number * 10'000) : *as_exact(size);
  }
  const Wide scaled_value = *as_exact(value);
  Wide quotient = scaled_value / width;
  while (quotient * width > scaled_value) --quotient;
  return std::holds_alternative<Decimal>(value) ? Value(Decimal{quotient, 0}) : value_of(quotient);
}

Value ratio_box(const Value& value, double times) {
  if (is_null(value) || is_nan(value)) return value;
  long double number = 0;
  if (const auto* real = std::get_if<double>(&value)) number = *real;
  if (const auto* decimal = std::get_if<Decimal>(&value)) {
    number = static_cast<double>(static_cast<long double>(decimal->unscaled) / std::pow(10.0L, decimal->scale));
  }
  if (const std::optional<Wide> whole = as_integer(value)) number = static_cast<double>(*whole);
  if (number < 0) return std::numeric_limits<double>::quiet_NaN();
  if (number == 0 || std::isinf(number)) return number == 0 ? -kInfinity : kInfinity;
  double box = 0;
  long double boundary = 1;
  for (; static_cast<double>(boundary) > number; --box) boundary /= times;
  for (; static_cast<double>(boundary * times) <= number; ++box) boundary *= times;
  return box;
}

bool same(const Value& a, const Value& b) {
  if (is_nan(a) || is_nan(b)) return is_nan(a) && is_nan(b);
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x != nullptr && y != nullptr) return *x == *y && std::signbit(*x) == std::signbit(*y);
  return a == b;
}

}  // namespace skyrank::reference
