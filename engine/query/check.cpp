#include "engine/query/check.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/decimal.hpp"
#include "engine/query/ast.hpp"
#include "engine/query/duration.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/query/values.hpp"
#include "engine/text.hpp"

namespace skyrank::query {
namespace {

using Kind = Preference::Kind;

constexpr std::size_t kMaxDimensions = 64;

// Ratios of boxes: with less than the least, neighbours among boxes of float64 would be hard to tell apart.
constexpr double kMinBoxRatio = 1e-6;
constexpr double kMaxBoxRatio = 1e6;

bool is_nan(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr && std::isnan(*number);
}

void check_target(Kind kind, std::string_view part, const Value& value) {
  if (is_nan(value) || std::holds_alternative<Null>(value) || std::holds_alternative<bool>(value)) {
    throw QueryError(in_quotes(word_for(kind)) + " needs a number, a date or a timestamp as its " + in_quotes(part) +
                     ", not " + (is_nan(value) ? "NaN" : spelled(value)));
  }
}

void check_range(const Preference& preference) {
  const bool open_below = std::holds_alternative<Null>(preference.target);
  const bool open_above = std::holds_alternative<Null>(preference.upper);
  if (open_below && open_above) throw QueryError("'between' needs 'from', 'to' or both");
  if (!open_below) check_target(Kind::between, "from", preference.target);
  if (!open_above) check_target(Kind::between, "to", preference.upper);
  if (open_below || open_above) return;
  // Strings are dates or timestamps, which the binder reads and compares.
  const bool text = std::holds_alternative<std::string>(preference.target);
  if (!text && compare(preference.target, preference.upper) > 0) {
    throw QueryError("'between' goes from " + spelled(preference.target) + " down to " + spelled(preference.upper) +
                     "; 'from' must not be above 'to'");
  }
}

void check_sets(const std::vector<std::vector<Value>>& sets) {
  if (sets.empty()) throw QueryError("'in' needs at least one set of values");
  std::vector<const Value*> all;
  for (const auto& set : sets) {
    if (set.empty()) throw QueryError("a set of 'in' is empty; leave it out");
    for (const Value& value : set) all.push_back(&value);
  }
  for (const Value* value : all) {
    if (std::holds_alternative<Null>(*value) || is_nan(*value)) {
      throw QueryError(is_nan(*value) ? "'in' cannot list NaN: it is worst, or best with nan: best"
                                      : "'in' cannot list NULL: it is worst, or best with nulls: best");
    }
  }
  // Values of one kind are totally ordered, so that equal ones become neighbours; kinds are kept apart by their index.
  const auto group = [](const Value& v) {
    const bool number = std::holds_alternative<std::int64_t>(v) || std::holds_alternative<std::uint64_t>(v) ||
                        std::holds_alternative<Decimal>(v);
    const bool time = std::holds_alternative<Timestamp>(v);
    return number ? Value(0.0).index() : time ? Value(Date{}).index() : v.index();
  };
  std::stable_sort(all.begin(), all.end(), [&](const Value* a, const Value* b) {
    return group(*a) != group(*b) ? group(*a) < group(*b) : compare(*a, *b) < 0;
  });
  const auto twice =
      std::adjacent_find(all.begin(), all.end(), [](const Value* a, const Value* b) { return compare(*a, *b) == 0; });
  if (twice != all.end()) throw QueryError("'in' lists " + spelled(**twice) + " twice");
}

void check_level(int depth) {
  if (depth <= kMaxNesting) return;
  throw QueryError("preferences are nested more than " + std::to_string(kMaxNesting) + " levels deep");
}

// Dimensions of the skyline problem: a prior of single keys is one key.
std::size_t dimensions(const Preference& preference, int depth) {
  check_level(depth);
  check_node(preference);
  if (preference.is_term()) return 1;
  std::size_t sum = 0;
  bool keys_only = true;
  for (const Preference& child : preference.children) {
    const std::size_t d = dimensions(child, depth + 1);
    sum += d;
    keys_only = keys_only && d == 1;
  }
  return preference.kind == Kind::prior && keys_only ? 1 : sum;
}

}  // namespace

void check_node(const Preference& preference) {
  const std::string word = in_quotes(word_for(preference.kind));
  if (preference.is_term()) {
    if (!preference.expression) throw QueryError(word + " needs an expression");
    if (preference.kind == Kind::around) check_target(preference.kind, "target", preference.target);
    if (preference.kind == Kind::between) check_range(preference);
    if (preference.kind == Kind::in) check_sets(preference.values);
  } else if (preference.children.empty()) {
    throw QueryError(word + " needs at least one preference");
  } else if (preference.kind == Kind::inverse && preference.children.size() != 1) {
    throw QueryError("'inverse' takes one preference");
  }
}

void check_depth(const Preference& preference, int depth) {
  check_level(depth);
  for (const Preference& child : preference.children) check_depth(child, depth + 1);
}

void check_tree(const Preference& preference) {
  const std::size_t d = dimensions(preference, 1);
  if (d > kMaxDimensions) {
    throw QueryError("'prefer' has " + std::to_string(d) + " dimensions; at most " + std::to_string(kMaxDimensions) +
                     " are supported");
  }
}

std::optional<Decimal> ratio_of(const Value& size) {
  const auto* text = std::get_if<std::string>(&size);
  if (text == nullptr || !text->ends_with('%')) return std::nullopt;
  std::optional<Decimal> percent = parse_decimal(std::string_view(*text).substr(0, text->size() - 1));
  if (!percent) return std::nullopt;
  percent = without_trailing_zeros(*percent);
  if (percent->scale + 2 > kMaxDigits128) return std::nullopt;
  return Decimal{percent->unscaled, percent->scale + 2};
}

void check_box_size(const Value& size, bool is_ratio, const Value& written) {
  const auto* text = std::get_if<std::string>(&size);
  const std::optional<double> number = double_of(size);
  const bool sized = number && *number > 0 && std::isfinite(*number);
  const auto refuse = [&](const std::string& needed) {
    throw QueryError(needed + ", not " + (number && std::isnan(*number) ? "NaN" : spelled(written)));
  };
  if (is_ratio && !(sized && *number >= kMinBoxRatio && *number <= kMaxBoxRatio)) {
    refuse("boxes of equal ratio need a ratio from 0.000001 to 1000000, which is 0.0001% to 100000000%");
  }
  if (!is_ratio && !sized && (text == nullptr || !parse_nanoseconds(*text))) {
    refuse("the size of boxes is a number above 0, a ratio such as '10%' or a time such as '7d'");
  }
}

void check_pick(const Pick& pick) {
  if (pick.count < 1) throw QueryError("'pick' must be of at least 1 row, not " + std::to_string(pick.count));
  const bool needs_reference = pick.by == Pick::By::hypervolume;
  if (needs_reference && pick.reference.empty()) {
    throw QueryError(
        "'pick' by hypervolume needs a 'reference': a value of each term that is worse than those of the rows");
  }
  if (!needs_reference && !pick.reference.empty()) {
    throw QueryError("'pick' by " + std::string(word_for(pick.by)) + " takes no 'reference', which is of hypervolume");
  }
  if (!std::ranges::all_of(pick.reference, [](double value) { return std::isfinite(value); })) {
    throw QueryError("the 'reference' of 'pick' has finite numbers");
  }
}

Preference combined(std::vector<Preference> preferences) {
  if (preferences.empty()) throw QueryError("'prefer' needs at least one preference");
  return preferences.size() == 1 ? std::move(preferences.front()) : pareto(std::move(preferences));
}

const Expression& ranked_expression(const Preference& preference) {
  if (preference.kind != Kind::low && preference.kind != Kind::high) {
    throw QueryError("'rank_by' takes 'low' and 'high', not " + in_quotes(word_for(preference.kind)));
  }
  check_node(preference);
  return *preference.expression;
}

std::string output_name(const Expression& expression) {
  const std::string_view column = expression.column_name();
  return column.empty() ? expression.text() : std::string(column);
}

void check_query_name(std::string_view name) {
  const auto allowed = [](char c) { return is_name_character(c) || c == '-' || c == '.'; };
  if (name.empty()) throw QueryError("a query's name is empty");
  // A file name has at most 255 bytes; the rest is for the extension and for the name of an unfinished file.
  constexpr std::size_t kMaxName = 200;
  if (name.size() > kMaxName) {
    throw QueryError("a query's name has " + std::to_string(name.size()) + " characters; as it names a file, it may " +
                     "have " + std::to_string(kMaxName));
  }
  if (name.front() == '.' || !std::all_of(name.begin(), name.end(), allowed)) {
    throw QueryError("the query name " + in_quotes(name) +
                     " is no plain file name: use letters, digits, '-', '_' and '.', and no '.' in front");
  }
}

}  // namespace skyrank::query
