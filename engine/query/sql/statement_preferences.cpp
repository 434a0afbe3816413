#include <algorithm>
#include <array>
#include <limits>

#include "engine/decimal.hpp"
#include "engine/query/check.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/query/sql/statement.hpp"
#include "engine/query/sql_words.hpp"
#include "engine/query/values.hpp"
#include "engine/text.hpp"

// The part of SqlBuilder that makes preferences.
namespace skyrank::query {
namespace {

using Kind = Preference::Kind;

// Words that stand in preferences only, so that parentheses around them are no expression.
bool joins_preferences(std::string_view word) {
  constexpr std::array<std::string_view, 8> kWords = {"low",  "high",  "around", "inverse",
                                                      "plus", "prior", "pareto", "where"};
  return is_one_of(word, kWords);
}

bool is_condition(const Node& node) {
  switch (node.op) {
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_not:
    case Op::is_null: return true;
    case Op::in:
    case Op::between: return node.negated;
    default: return is_comparison(node.op);
  }
}

// INFINITY, a word for a value and no column where only values may stand.
std::optional<double> infinity(const Node& node) {
  if (node.op == Op::negate) {
    const auto positive = infinity(*node.children[0]);
    return positive ? std::optional(-*positive) : std::nullopt;
  }
  if (node.op != Op::column || !equal_ignoring_case(node.name, "infinity")) return std::nullopt;
  return std::numeric_limits<double>::infinity();
}

}  // namespace

std::optional<std::size_t> SqlBuilder::read_value(std::size_t offset) {
  const Expression kept = *expression_;  // the value is a part of a term
  const std::size_t kept_at = expression_at_;
  const std::optional<std::size_t> end = read_preferred(offset);
  value_ = value_of(root_of(*expression_), expression_at_);
  expression_ = kept;
  expression_at_ = kept_at;
  return end;
}

std::optional<std::size_t> SqlBuilder::open_preferences(std::size_t offset) {
  const SqlToken open = sql_token(text_, offset);
  if (open.in(text_) != "(") return std::nullopt;
  int depth = 1;
  int cases = 0;
  for (SqlToken token = sql_token(text_, open.end); depth > 0 && token.begin < text_.size();
       token = sql_token(text_, token.end)) {
    const std::string_view word = token.in(text_);
    depth += word == "(" ? 1 : word == ")" ? -1 : 0;
    cases += equal_ignoring_case(word, "case") ? 1 : equal_ignoring_case(word, "end") ? -1 : 0;
    const bool next_set = cases == 0 && equal_ignoring_case(word, "else");
    if (next_set || joins_preferences(word)) return after(open.end);
  }
  return std::nullopt;
}

void SqlBuilder::enter(std::size_t offset) {
  if (++nesting_ > kMaxNesting) {
    fail(offset, "preferences are nested more than " + std::to_string(kMaxNesting) + " levels deep");
  }
}

void SqlBuilder::close_composition(Kind kind, bool also_of_one) {
  const std::size_t mark = marks_.back();
  marks_.pop_back();
  if (preferences_.size() - mark == 1 && !also_of_one) return;
  const auto first = preferences_.begin() + static_cast<std::ptrdiff_t>(mark);
  std::vector<Preference> children(std::make_move_iterator(first), std::make_move_iterator(preferences_.end()));
  preferences_.erase(first, preferences_.end());
  preferences_.push_back(kind == Kind::pareto ? skyrank::pareto(std::move(children))
                                              : skyrank::prior(std::move(children)));
}

void SqlBuilder::term(Kind kind) {
  Expression expression = take_expression();
  preferences_.push_back(kind == Kind::low    ? low(std::move(expression))
                         : kind == Kind::high ? high(std::move(expression))
                                              : skyrank::where(std::move(expression)));
  if (!box_size_) return;
  Preference& last = preferences_.back();
  at(box_size_at_, [&] { last = step(std::move(last), std::move(*box_size_)); });
  box_size_.reset();
}

// A number, with a % or without, or a text: a time such as '7d'.
std::optional<std::size_t> SqlBuilder::read_box_size(std::size_t offset) {
  const SqlToken first = sql_token(text_, offset);
  box_size_at_ = first.begin;
  const std::string_view token = first.in(text_);
  if (token.starts_with('\'')) {
    if (token.size() < 2 || !token.ends_with('\'')) fail(first.begin, "the string that begins here does not end");
    box_size_ = unquoted(token.substr(1, token.size() - 2), '\'');
    return after(first.end);
  }
  std::size_t end = first.begin;
  while (end < text_.size() &&
         (is_word_character(text_[end]) || text_[end] == '.' || (end == first.begin && text_[end] == '-')))
    ++end;
  const std::string text(text_.substr(first.begin, end - first.begin));
  if (!parse_decimal(text)) return std::nullopt;
  const SqlToken percent = sql_token(text_, end);
  const bool is_ratio = percent.in(text_) == "%";
  box_size_ = is_ratio ? Value(text + "%") : root_of(Expression(text, place_(box_size_at_))).value;
  return after(is_ratio ? percent.end : end);
}

void SqlBuilder::inverse() { preferences_.back() = skyrank::inverse(std::move(preferences_.back())); }

void SqlBuilder::around() { target_ = std::move(value_); }

Value SqlBuilder::value_of(const Node& node, std::size_t offset) const {
  if (node.op == Op::literal) return node.value;
  if (const auto value = infinity(node)) return *value;
  fail(place_of(node, place_(offset)),
       "a preference needs a value such as 5, 'Oslo' or DATE '2017-05-01', not the expression " + to_sql_text(node) +
           "; before a condition, write WHERE");
}

std::vector<Value> SqlBuilder::members_of(const Node& node) const {
  std::vector<Value> values;
  for (std::size_t i = 1; i < node.children.size(); ++i) values.push_back(value_of(*node.children[i], expression_at_));
  return values;
}

// `x IN (...)` and `x BETWEEN a AND b` are preferences of their own; other conditions are better where they are true.
Preference SqlBuilder::preference_of(const Expression& expression) const {
  const Node& root = root_of(expression);
  if (is_condition(root)) return skyrank::where(expression);
  if (root.op != Op::in && root.op != Op::between) {
    fail(expression_at_, "the value " + to_sql_text(root) +
                             " is no preference: write LOW or HIGH before it, AROUND and a value behind it, or WHERE "
                             "before a condition");
  }
  const NodePtr& operand = root.children[0];
  const Expression value = make_expression(operand, place_of(*operand, expression.location()));
  std::vector<Value> members = members_of(root);
  if (root.op == Op::between) return skyrank::between(value, std::move(members[0]), std::move(members[1]));
  return skyrank::in(value, {std::move(members)});
}

void SqlBuilder::end_value_term() {
  const Expression expression = take_expression();
  const auto refuse_sets = [&] {
    if (!sets_.empty()) fail(expression_at_, "only IN has an ELSE: x IN ('a', 'b') ELSE ('c')");
  };
  preferences_.push_back(at(expression_at_, [&] {
    if (target_) {
      refuse_sets();
      return skyrank::around(expression, std::move(*target_));
    }
    Preference preference = preference_of(expression);
    if (preference.kind != Kind::in) refuse_sets();
    if (sets_.empty()) return preference;
    std::move(sets_.begin(), sets_.end(), std::back_inserter(preference.values));
    return skyrank::in(*preference.expression, std::move(preference.values));
  }));
  target_.reset();
  sets_.clear();
}

// SKYLINE OF has its terms side by side still.
void SqlBuilder::end_weights() {
  const bool is_pareto = preferences_.size() == 1 && preferences_.front().kind == Kind::pareto;
  std::vector<Preference> terms = is_pareto ? preferences_.front().children : std::move(preferences_);
  at(prefer_at_, [&] { preferences_ = {weighted(std::move(terms), weights_)}; });
}

void SqlBuilder::prefer() {
  Preference preference = std::move(preferences_.back());
  preferences_.pop_back();
  if (feasible_) {
    preference = skyrank::feasible(std::move(*feasible_), std::move(violations_), std::move(preference));
  }
  at(prefer_at_, [&] { check_tree(preference); });
  query_.prefer(std::move(preference));
}

std::optional<std::size_t> SqlBuilder::read_measure(std::size_t offset) {
  const SqlToken word = sql_token(text_, offset);
  const auto by =
      find_by_word<Pick::By>([&](std::string_view known) { return equal_ignoring_case(word.in(text_), known); });
  if (!by) return std::nullopt;
  pick_.by = *by;
  return after(word.end);
}

void SqlBuilder::reference_value() {
  const Expression value = take_expression();
  const Node& root = root_of(value);
  const std::optional<double> number = root.op == Op::literal ? double_of(root.value) : std::nullopt;
  if (!number) fail(expression_at_, "REFERENCE has numbers, not " + to_sql_text(root));
  pick_.reference.push_back(*number);
}

void SqlBuilder::end_pick() {
  at(integer_at_, [&] { check_pick(pick_); });
  query_.pick(std::move(pick_));
}

void SqlBuilder::end_skyline() {
  if (preferences_.empty()) fail(prefer_at_, "SKYLINE OF needs a value that is MIN or MAX besides those that are DIFF");
  preferences_ = {combined(std::move(preferences_))};
  prefer();
}

}  // namespace skyrank::query
