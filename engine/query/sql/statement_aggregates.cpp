#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/query/check.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/query/sql/statement.hpp"
#include "engine/query/sql_words.hpp"
#include "engine/text.hpp"

// Aggregates in statements. One that stands alone is read by the grammar. One inside an expression, such as
// SUM(x) / COUNT(*), is hidden from the grammar of expressions behind a quoted name of the same length, which is the
// column of the aggregate once the expression is read.
namespace skyrank::query {

NodePtr replace_columns(const NodePtr& node, const std::function<NodePtr(const Node&)>& replacement) {
  if (node->op == Op::column) {
    NodePtr column = replacement(*node);
    return column != nullptr ? column : node;
  }
  std::vector<NodePtr> children;
  bool changed = false;
  for (const NodePtr& child : node->children) {
    children.push_back(replace_columns(child, replacement));
    changed = changed || children.back() != child;
  }
  if (!changed) return node;
  Node copy = *node;
  copy.children = std::move(children);
  return std::make_shared<const Node>(std::move(copy));
}

namespace {

std::optional<Aggregate::Function> function_named(std::string_view word) {
  return find_by_word<Aggregate::Function>([&](std::string_view known) { return equal_ignoring_case(word, known); });
}

// Two calls of aggregates are one where they have the same text.
std::string text_of_call(const Aggregate& aggregate) {
  return std::string(word_for(aggregate.function)) + "(" + (aggregate.argument ? aggregate.argument->text() : "*") +
         ")";
}

bool is_extreme(Aggregate::Function function) {
  return function == Aggregate::Function::min || function == Aggregate::Function::max;
}

// Returns true for a token behind an aggregate that makes it a part of a larger expression.
bool continues_expression(std::string_view token) {
  static constexpr std::array<std::string_view, 7> kWords = {"and", "or", "not", "in", "between", "like", "is"};
  return is_one_of(token, kWords) ||
         (token.size() == 1 && std::string_view("+-*/%=<>!|:").find(token) != std::string_view::npos);
}

// An opening bracket of a statement.
struct Bracket {
  std::optional<Aggregate::Function> function;  // whose arguments it begins
  std::size_t begin = 0;                        // of the function, or of the bracket
  std::size_t arguments = 0;                    // behind the bracket
  bool has_comma = false;
};

}  // namespace

void SqlBuilder::hide_aggregates() {
  hidden_text_ = text_;
  std::vector<Bracket> open;
  SqlToken before;
  for (SqlToken token = sql_token(text_, 0); token.begin < text_.size();
       before = token, token = sql_token(text_, token.end)) {
    const std::string_view text = token.in(text_);
    if (text == "(" || text == "[") {
      const auto function = text == "(" ? function_named(before.in(text_)) : std::nullopt;
      open.push_back({function, function ? before.begin : token.begin, token.end});
    } else if (open.empty()) {
      continue;
    } else if (text == ",") {
      open.back().has_comma = true;
    } else if (text == ")" || text == "]") {
      const Bracket call = open.back();
      open.pop_back();
      const bool is_scalar = !call.function || (is_extreme(*call.function) && call.has_comma);
      if (is_scalar || text != ")" || after(call.arguments) == token.begin) continue;
      while (!calls_.empty() && calls_.back().begin > call.begin) calls_.pop_back();
      calls_.push_back({*call.function, call.begin, call.arguments, token.end});
    }
  }
  for (const AggregateCall& call : calls_) {
    std::fill(hidden_text_.begin() + static_cast<std::ptrdiff_t>(call.begin),
              hidden_text_.begin() + static_cast<std::ptrdiff_t>(call.end), '_');
    hidden_text_[call.begin] = hidden_text_[call.end - 1] = '"';
  }
}

// Reads an expression, and puts the columns of aggregates in place of the names that hide them.
Expression SqlBuilder::parse(std::size_t offset, std::span<const std::string_view> reserved, std::size_t& end) {
  const auto first = std::ranges::lower_bound(calls_, offset, {}, &AggregateCall::begin);
  const bool is_inside = first != calls_.begin() && std::prev(first)->end > offset;
  ParsedPrefix parsed = parse_sql_expression(is_inside ? text_ : hidden_text_, offset, reserved, place_);
  end = parsed.end;
  auto last = first;
  while (!is_inside && last != calls_.end() && last->begin < end) ++last;
  if (first != last) parsed.root = with_aggregates(parsed.root, {first, last});
  holds_aggregates_ = first != last;
  const Location origin = place_(after(offset));
  if (sub_) parsed.root = behind_sub_select(parsed.root, origin);
  return make_expression(std::move(parsed.root), origin);
}

NodePtr SqlBuilder::with_aggregates(const NodePtr& root, std::span<const AggregateCall> calls) {
  if (last_ == Clause::where || last_ == Clause::group_by) {
    fail(calls.front().begin, last_ == Clause::where
                                  ? "WHERE chooses rows before there are groups; a condition on aggregates is HAVING"
                                  : "an aggregate is of the rows of a group and cannot be a key");
  }
  for (const AggregateCall& call : calls) {
    const Location place = place_(call.begin);
    Node column = root_of(Expression::column(aggregate_of(call).name));
    column.line = place.line;
    column.column = place.column;
    hidden_columns_.insert_or_assign(std::pair(place.line, place.column),
                                     std::make_shared<const Node>(std::move(column)));
  }
  return replace_columns(root, [&](const Node& node) {
    const auto found = hidden_columns_.find({node.line, node.column});
    return found != hidden_columns_.end() ? found->second : nullptr;
  });
}

// Returns the aggregate that a call inside an expression means.
const Aggregate& SqlBuilder::aggregate_of(const AggregateCall& call) {
  function_ = call.function;
  aggregate_at_ = call.begin;
  const SqlToken star = sql_token(text_, call.arguments);
  const bool is_star = star.in(text_) == "*" && after(star.end) == call.end - 1;
  if (!is_star) {
    std::size_t end = 0;
    expression_ = parse(call.arguments, sql_clause_words(), end);
    if (end != call.end - 1) fail_expecting(end, "an operator or ')'");
  }
  end_aggregate(is_star);
  const Aggregate& found = known_or_added(*pending_);
  pending_.reset();
  return found;
}

// Names of SELECT mean what stands there, where the groups have no column of the name.
Expression SqlBuilder::over_groups(Expression expression) const {
  if (group_by_.empty() && aggregates_.empty()) return expression;
  const auto selected = [&](const Node& node) -> NodePtr {
    const auto is_key = [&](const GroupKey& key) { return key.name == node.name; };
    if (aggregate_names_.contains(node.name) || std::ranges::any_of(group_by_, is_key)) return nullptr;
    const auto item = selected_names_.find(node.name);
    if (item == selected_names_.end()) return nullptr;
    return std::make_shared<const Node>(root_of(selected_[item->second].expression));
  };
  const auto root = std::make_shared<const Node>(root_of(expression));
  NodePtr replaced = replace_columns(root, selected);
  return replaced == root ? expression : make_expression(std::move(replaced), expression.location());
}

std::optional<std::size_t> SqlBuilder::open_aggregate(std::size_t offset) {
  const SqlToken word = sql_token(text_, offset);
  const auto function = function_named(word.in(text_));
  const SqlToken open = sql_token(text_, word.end);
  if (!function || open.in(text_) != "(") return std::nullopt;
  int depth = 1;
  SqlToken token = sql_token(text_, open.end);
  for (; depth > 0 && token.begin < text_.size(); token = sql_token(text_, token.end)) {
    const char c = text_[token.begin];
    const bool several = c == ',' && depth == 1;
    if (several && (function == Aggregate::Function::min || function == Aggregate::Function::max)) return std::nullopt;
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
  }
  if (last_ != Clause::aggregate && continues_expression(token.in(text_))) return std::nullopt;
  function_ = *function;
  aggregate_at_ = word.begin;
  return after(open.end);
}

void SqlBuilder::end_aggregate(bool star) {
  if (sub_ && (sub_->has_groups() || sub_->number)) {
    fail(aggregate_at_, in_quotes(word_for(function_)) + " is of groups, and the sub-select " +
                            (sub_->number ? "numbers rows" : "has groups already") + "; run it in an SQL engine");
  }
  if (star && function_ != Aggregate::Function::count) {
    fail(aggregate_at_, in_quotes(word_for(function_)) + " needs an argument; only COUNT takes '*'");
  }
  Aggregate aggregate{"", function_, std::nullopt};
  if (!star) aggregate.argument = take_expression();
  aggregate.name = std::string(word_for(function_)) + "(" + (star ? "*" : aggregate.argument->text()) + ")";
  pending_ = std::move(aggregate);
}

Aggregate& SqlBuilder::add_aggregate(Aggregate aggregate, std::size_t offset) {
  if (!aggregate_names_.emplace(aggregate.name, aggregates_.size()).second) {
    fail(offset, "two aggregates have the name " + in_quotes(aggregate.name) + "; name one of them otherwise with AS");
  }
  if (!first_aggregate_) first_aggregate_ = offset;
  aggregate_calls_.emplace(text_of_call(aggregate), aggregates_.size());
  aggregates_.push_back(std::move(aggregate));
  return aggregates_.back();
}

void SqlBuilder::define_aggregate() {
  Aggregate aggregate = *pending_;
  if (alias_) aggregate.name = alias_->text;
  alias_.reset();
  add_aggregate(std::move(aggregate), aggregate_at_);
}

const Aggregate& SqlBuilder::known_or_added(const Aggregate& aggregate) {
  const auto known = aggregate_calls_.find(text_of_call(aggregate));
  return known != aggregate_calls_.end() ? aggregates_[known->second] : add_aggregate(aggregate, aggregate_at_);
}

void SqlBuilder::refer_to_aggregate() {
  const Expression column = Expression::column(known_or_added(*pending_).name);
  expression_at_ = aggregate_at_;
  expression_ = make_expression(std::make_shared<const Node>(root_of(column)), place_(aggregate_at_));
}

}  // namespace skyrank::query
