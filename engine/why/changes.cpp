#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/operators/gather/gather.hpp"
#include "engine/query/bind/binding.hpp"
#include "engine/query/values.hpp"
#include "engine/stop.hpp"
#include "engine/why/cells.hpp"
#include "engine/why/ladder.hpp"
#include "engine/why/why.hpp"

// The least change of each term. A better value of a `low` or `high` term never costs a row its place: fewer rows
// dominate it, it dominates more, and it ranks no later. So the values that let a row in are those from some value on,
// and a binary search over the values with which the query compares finds that one by asking the query itself, some 20
// times for a million rows. Conditions `column < constant` bound the search; whatever is not monotone is not
// determined.
namespace skyrank::exec {
namespace {

using query::BoundExpression;
using query::BoundPreference;
using query::BoundPtr;
using query::BoundQuery;
using query::Op;
using Kind = Preference::Kind;

/// A comparison of a column with a constant, which a condition says.
struct ColumnComparison {
  Op op = Op::equal;
  Value literal;
};

bool is_column(const query::BoundNode& node, int column) { return node.op == Op::column && node.column == column; }

bool reads(const BoundExpression& expression, int column) {
  query::ColumnSet columns;
  columns.add(expression);
  return std::ranges::binary_search(columns.ascending(), column);
}

bool mentions(const BoundExpression& expression, const std::string& text) {
  return expression.text.find(text) != std::string::npos;
}

/// Returns the comparisons that a condition consists of, none for `is not null`; nothing for one of another form.
std::optional<std::vector<ColumnComparison>> comparisons_of(const BoundExpression& condition, int column) {
  const query::BoundNode& root = *condition.root;
  const auto literal = [&](std::size_t child) { return root.children[child]->op == Op::literal; };
  if (is_column(root, column)) return std::vector<ColumnComparison>{{Op::equal, true}};
  if (root.op == Op::logical_not && is_column(*root.children[0], column)) {
    return std::vector<ColumnComparison>{{Op::equal, false}};
  }
  if (root.op == Op::is_null && root.negated && is_column(*root.children[0], column)) {
    return std::vector<ColumnComparison>{};
  }
  if (root.op == Op::between && !root.negated && is_column(*root.children[0], column) && literal(1) && literal(2)) {
    return std::vector<ColumnComparison>{{Op::greater_equal, root.children[1]->value},
                                         {Op::less_equal, root.children[2]->value}};
  }
  if (!query::is_comparison(root.op) || root.op == Op::not_equal) return std::nullopt;
  if (is_column(*root.children[0], column) && literal(1)) {
    return std::vector<ColumnComparison>{{root.op, root.children[1]->value}};
  }
  if (is_column(*root.children[1], column) && literal(0)) {
    return std::vector<ColumnComparison>{{query::exchanged(root.op), root.children[0]->value}};
  }
  return std::nullopt;
}

/// A part of the query that may change: a column, or the value of an expression, which stands in a column of its own.
struct ChangingTerm {
  ChangingTerm(std::string name, Table in, BoundQuery of, int place)
      : text(std::move(name)), table(std::move(in)), query(std::move(of)), column(place) {}

  std::string text;
  Table table;
  BoundQuery query;
  int column = -1;                           ///< its place in `table`
  bool low = false;                          ///< some use of it prefers lower values
  bool high = false;                         ///< some use of it prefers higher values
  std::vector<ColumnComparison> conditions;  ///< on the column; all have to hold
  std::string failed;                        ///< the texts of those that do not, joined by `and`
};

BoundExpression column_expression(const Table& table, int column, const BoundExpression& like) {
  BoundExpression expression = like;
  auto node = std::make_shared<query::BoundNode>(*like.root);
  node->op = Op::column;
  node->column = column;
  node->children.clear();
  expression.root = std::move(node);
  expression.column = column;
  expression.type = table.column(column).type();
  return expression;
}

void replace_terms(BoundPreference& preference, const std::string& text, const BoundExpression& by) {
  if (preference.children.empty() && preference.expression.text == text) preference.expression = by;
  for (BoundPreference& child : preference.children) replace_terms(child, text, by);
}

Table with_column(const Table& table, Column column) {
  std::string name = "changed";
  while (table.find(name)) name += '_';
  std::vector<Column> columns = table.columns();
  columns.push_back(column.renamed(name));
  return Table(std::move(columns));
}

/// Finds the least change of one term.
class ChangeSearch {
 public:
  /// `passing` are the rows that pass the filter, whose values the query compares.
  ChangeSearch(const RowQuestion& question, const ChangingTerm& term, const Vector<RowId>& passing)
      : question_(question), term_(term), passing_(passing) {}

  /// Returns what has to hold; empty where nothing lets the row in.
  std::string find() const {
    const DataType type = column().type();
    if (is_floating(type.type)) {
      CodeInterval<double> allowed{-kInfinity, kInfinity};
      return find(CodeRange<double>{-kInfinity, kInfinity, type.type == Type::float32}, allowed, float_interval,
                  [](const Value& value) { return float_code(value); });
    }
    const CodeInterval<Int128> codes = exact_codes(type);
    return find(CodeRange<Int128>{codes.low, codes.high}, codes, exact_interval,
                [&](const Value& value) { return exact_code(value, type); });
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  const Column& column() const { return term_.table.column(term_.column); }

  template <class Code, class Interval, class CodeOf>
  std::string find(CodeRange<Code> range, CodeInterval<Code> allowed, const Interval& interval_of,
                   const CodeOf& code_of) const {
    for (const ColumnComparison& condition : term_.conditions) {
      const auto interval = interval_of(condition.op, condition.literal, column().type());
      allowed = {std::max(allowed.low, interval->low), std::min(allowed.high, interval->high)};
    }
    if (allowed.low > allowed.high) return "";
    std::optional<Code> own = code_of(column().value(question_.row));
    std::vector<Code> values;
    const bool ranked = term_.low || term_.high;
    for (std::int64_t i = 0; ranked && i < std::ssize(passing_); ++i) {
      check_at(i, current_stop());
      const RowId row = passing_[static_cast<std::size_t>(i)];
      if (const std::optional<Code> code = code_of(column().value(row))) values.push_back(*code);
    }
    if (own) values.push_back(*own);
    if (allowed.low > range.lowest) values.push_back(allowed.low);
    if (allowed.high < range.highest) values.push_back(allowed.high);
    if (term_.high) {  // lower is better from here on
      for (Code& value : values) value = -value;
      if (own) own = -*own;
      range = {-range.highest, -range.lowest, range.is_float32};
      allowed = {-allowed.high, -allowed.low};
    }
    if (!ranked || (own && *own < allowed.low)) return enters(nearest(own, allowed, range)) ? term_.failed : "";
    std::vector<Rung<Code>> rungs = ladder(std::move(values), range);
    std::erase_if(rungs, [&](const Rung<Code>& rung) {
      return rung.code < allowed.low || rung.code > allowed.high || (own && rung.code >= *own);
    });
    if (rungs.empty() || !enters(rungs.back().code)) return "";
    const auto first = std::ranges::partition_point(rungs, [&](const Rung<Code>& rung) { return !enters(rung.code); });
    if (first == rungs.begin() && !term_.failed.empty()) return term_.failed;
    return words(*first);
  }

  /// Returns the allowed code next to the row's own one.
  template <class Code>
  static Code nearest(const std::optional<Code>& own, const CodeInterval<Code>& allowed, const CodeRange<Code>& range) {
    if (own) return std::clamp(*own, allowed.low, allowed.high);
    return allowed.high < range.highest ? allowed.high : std::max(allowed.low, Code{});
  }

  /// Returns true if the row is in the answer with this value.
  template <class Code>
  bool enters(Code code) const {
    std::vector<Column> columns = term_.table.columns();
    Column& changed = columns[static_cast<std::size_t>(term_.column)];
    changed = with_cell(changed, question_.row, value_code(code));
    const std::vector<RowId> rows = answer_rows(question_.context, term_.query, Table(std::move(columns)));
    return std::ranges::find(rows, question_.row) != rows.end();
  }

  template <class Code>
  Code value_code(Code code) const {
    const Code value = term_.high ? -code : code;
    if constexpr (std::same_as<Code, double>) return value + 0.0;
    return value;
  }

  template <class Code>
  std::string words(const Rung<Code>& rung) const {
    if (rung.kind == Rung<Code>::Kind::any) return term_.text + " has a value";
    const bool at = rung.kind == Rung<Code>::Kind::at;
    const std::string comparison = term_.high ? (at ? " >= " : " > ") : (at ? " <= " : " < ");
    Value value;
    if constexpr (std::same_as<Code, double>) {
      value = value_code(rung.anchor);
    } else {
      value = value_of(value_code(rung.anchor), column().type());
    }
    return term_.text + comparison + query::spelled(query::normalized(value));
  }

  const RowQuestion& question_;
  const ChangingTerm& term_;
  const Vector<RowId>& passing_;
};

/// The terms and conditions of a query that may change, and their changes.
class Changes {
 public:
  explicit Changes(const RowQuestion& question)
      : question_(question), passing_(rows_passing(question)), failed_(failed_conditions(question)) {}

  std::vector<WhyChange> find() {
    if (question_.query.preference) {
      for (const BoundPreference* term : terms_of(*question_.query.preference)) add(*term);
    }
    for (const query::BoundRankTerm& term : question_.query.ranking) add(term.expression);
    for (const std::size_t i : failed_) add_condition(question_.conditions[i]);
    return std::move(changes_);
  }

 private:
  bool has(const std::string& text) const {
    return std::ranges::find(changes_, text, &WhyChange::term) != changes_.end();
  }

  void add(const BoundPreference& term) {
    if (term.kind == Kind::low || term.kind == Kind::high) return add(term.expression);
    if (!has(term.expression.text)) {
      changes_.push_back({term.expression.text, "", "changes are determined for 'low' and 'high' terms"});
    }
  }

  void add(const BoundExpression& expression) {
    if (has(expression.text)) return;
    changes_.push_back(expression.column >= 0 ? change_of_column(expression.text, expression.column)
                                              : change_of_expression(expression));
  }

  void add_condition(const BoundExpression& condition) {
    const std::vector<int> columns = [&] {
      query::ColumnSet set;
      set.add(condition);
      return set.ascending();
    }();
    if (columns.size() == 1 && comparisons_of(condition, columns.front()) &&
        unknown_cells(question_.table.column(columns.front())).empty()) {
      const std::string name = Expression::column(question_.table.column(columns.front()).name()).text();
      if (!has(name)) changes_.push_back(change_of_column(name, columns.front()));
      return;
    }
    if (has(condition.text)) return;
    for (const int column : columns) {
      if (const std::string other = other_use(condition, column); !other.empty()) {
        const std::string name = question_.table.column(column).name();
        changes_.push_back({condition.text, "", name + " is also in " + other});
        return;
      }
    }
    changes_.push_back(change_of_condition(condition));
  }

  /// Returns the part of the query that reads a column besides a condition; empty where there is none.
  std::string other_use(const BoundExpression& condition, int column) const {
    const BoundQuery& query = question_.query;
    if (query.preference) {
      for (const BoundPreference* term : terms_of(*query.preference)) {
        if (reads(term->expression, column)) return "the term " + term->expression.text;
      }
    }
    for (const query::BoundRankTerm& term : query.ranking) {
      if (reads(term.expression, column)) return "the term " + term.expression.text;
    }
    for (const BoundExpression& other : question_.conditions) {
      if (other.text != condition.text && reads(other, column)) return "the condition " + other.text;
    }
    const bool is_key = std::ranges::find(query.partition_columns, column) != query.partition_columns.end();
    return is_key ? "the keys of the partitions" : "";
  }

  /// Returns why nothing about ranked terms can be told; empty where it can.
  std::string unknown_of_query() const {
    const BoundQuery& query = question_.query;
    if (query.pick) return "which rows are picked depends on all values";
    if (query.offset > 0) return "a better row may fall before the 'offset'";
    const bool several_levels = query.at_least || query.levels.value_or(1) > 1;
    if (several_levels && query.limit)
      return "a better row may lift others to levels that take its place in the 'limit'";
    if (query.distinct && several_levels) return "a better row may equal another one, which 'distinct' keeps";
    return "";
  }

  /// Notes the directions in which a query prefers the values of a term that is the whole expression. Returns why it is
  /// not determined, where the term stands elsewhere, too.
  std::string use_ranked(ChangingTerm& term, bool is_column, int column) const {
    std::string unknown;
    const auto use = [&](const BoundExpression& expression, bool ranks, bool high) {
      const bool whole = is_column ? expression.column == column : expression.text == term.text;
      if (whole && ranks) {
        (high ? term.high : term.low) = true;
      } else if (!whole && (is_column ? reads(expression, column) : mentions(expression, term.text))) {
        unknown = term.text + " is also in the term " + expression.text;
      } else if (whole) {
        unknown = "changes are determined for 'low' and 'high' terms";
      }
    };
    if (question_.query.preference) {
      for (const BoundPreference* one : terms_of(*question_.query.preference)) {
        use(one->expression, one->kind == Kind::low || one->kind == Kind::high,
            (one->kind == Kind::high) != one->inverted);
      }
    }
    for (const query::BoundRankTerm& one : question_.query.ranking) use(one.expression, true, one.high);
    if (term.low && term.high) unknown = "one part of the query prefers low values, another one high values";
    return unknown;
  }

  /// Notes the conditions on a column. Returns why its change is not determined, if so.
  std::string use_conditions(ChangingTerm& term, int column) const {
    const DataType type = question_.table.column(column).type();
    for (std::size_t i = 0; i < question_.conditions.size(); ++i) {
      const BoundExpression& condition = question_.conditions[i];
      if (!reads(condition, column)) continue;
      const auto comparisons = comparisons_of(condition, column);
      const std::string unknown = term.text + " is also in the condition " + condition.text;
      if (!comparisons) return unknown;
      for (const ColumnComparison& comparison : *comparisons) {
        const bool known = is_floating(type.type) ? float_interval(comparison.op, comparison.literal, type).has_value()
                                                  : exact_interval(comparison.op, comparison.literal, type).has_value();
        if (!known) return unknown;
        term.conditions.push_back(comparison);
      }
      if (std::ranges::find(failed_, i) == failed_.end()) continue;
      term.failed += (term.failed.empty() ? "" : " and ") + condition.text;
    }
    return "";
  }

  WhyChange change_of_column(const std::string& text, int column) const {
    ChangingTerm term(text, question_.table, question_.query, column);
    std::string unknown = use_ranked(term, true, column);
    if (const std::string cells = unknown_cells(question_.table.column(column)); !cells.empty()) unknown = cells;
    if (unknown.empty()) unknown = use_conditions(term, column);
    if (std::ranges::find(question_.query.partition_columns, column) != question_.query.partition_columns.end()) {
      unknown = text + " is also a key of the partitions";
    }
    return found(term, unknown);
  }

  /// Answers for an expression as if its value stood in a column of its own: only rows that pass the filter have one.
  WhyChange change_of_expression(const BoundExpression& expression) const {
    ChangingTerm term(expression.text, question_.table, question_.query, -1);
    std::string unknown = use_ranked(term, false, -1);
    const Type type = expression.type.type;
    if (type == Type::string) unknown = "changes of strings are not determined";
    if (type == Type::boolean) unknown = "changes of conditions are not determined";
    for (const BoundExpression& condition : question_.conditions) {
      if (mentions(condition, term.text)) unknown = term.text + " is also in the condition " + condition.text;
    }
    if (!unknown.empty()) return {expression.text, "", unknown};
    if (!std::ranges::binary_search(passing_, question_.row)) return {expression.text, "", ""};  // `where` drops it
    const Rows rows{std::ssize(passing_), passing_.data()};
    const Column values = evaluate_all(expression, question_.table, rows, "changed");
    std::vector<RowId> places(static_cast<std::size_t>(question_.table.num_rows()), -1);
    for (std::int64_t i = 0; i < rows.n; ++i) places[static_cast<std::size_t>(rows[i])] = i;
    term.table = with_column(question_.table, gather(values, places, "changed"));
    term.column = term.table.num_columns() - 1;
    const BoundExpression by = column_expression(term.table, term.column, expression);
    if (term.query.preference) replace_terms(*term.query.preference, expression.text, by);
    for (query::BoundRankTerm& one : term.query.ranking) {
      if (one.expression.text == expression.text) one.expression = by;
    }
    return found(term, unknown_cells(term.table.column(term.column)));
  }

  WhyChange found(const ChangingTerm& term, std::string unknown) const {
    WhyChange change{term.text, "", std::move(unknown)};
    const bool ranked = term.low || term.high;
    if (change.unknown.empty() && ranked) change.unknown = unknown_of_query();
    const bool is_null = std::holds_alternative<Null>(term.table.column(term.column).value(question_.row));
    if (change.unknown.empty() && ranked && is_null && question_.query.nulls_first()) {
      change.unknown = "NULL is the best value";
    }
    if (!change.unknown.empty()) return change;
    try {
      change.change = ChangeSearch(question_, term, passing_).find();
    } catch (const DataError& error) {
      change.unknown = "the query fails with another value: " + error.message();
    }
    return change;
  }

  /// Answers for a condition as if it were true for this row.
  WhyChange change_of_condition(const BoundExpression& condition) const {
    query::ColumnSet columns;
    columns.add(condition);
    if (failed_.size() > 1 || columns.ascending().empty()) return {condition.text, "", ""};
    std::vector<bool> is_row(static_cast<std::size_t>(question_.table.num_rows()));
    is_row[static_cast<std::size_t>(question_.row)] = true;
    const Table table = with_column(question_.table, Column::own("changed", is_row));
    auto flag = std::make_shared<query::BoundNode>();
    flag->op = Op::column;
    flag->type = Type::boolean;
    flag->column = table.num_columns() - 1;
    BoundQuery query = question_.query;
    std::vector<BoundPtr> all;
    for (std::size_t i = 0; i < question_.conditions.size(); ++i) {
      const BoundPtr& root = question_.conditions[i].root;
      all.push_back(i == failed_.front() ? query::make_node(Op::logical_or, Type::boolean, {flag, root}) : root);
    }
    BoundPtr root = all.front();
    for (std::size_t i = 1; i < all.size(); ++i)
      root = query::make_node(Op::logical_and, Type::boolean, {root, all[i]});
    query.condition->root = root;
    query.condition->column = -1;
    try {
      const std::vector<RowId> rows = answer_rows(question_.context, query, table);
      return {condition.text, std::ranges::find(rows, question_.row) == rows.end() ? "" : condition.text, ""};
    } catch (const DataError& error) {
      return {condition.text, "", "the query fails where it holds: " + error.message()};
    }
  }

  const RowQuestion& question_;
  Vector<RowId> passing_;
  std::vector<std::size_t> failed_;
  std::vector<WhyChange> changes_;
};

}  // namespace

void find_changes(const RowQuestion& question, WhyNot& why) { why.changes = Changes(question).find(); }

}  // namespace skyrank::exec
