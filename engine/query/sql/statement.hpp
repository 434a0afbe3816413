#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <skyrank/query.hpp>

#include "engine/query/ast.hpp"
#include "engine/query/locations.hpp"
#include "engine/query/sql/parse.hpp"
#include "engine/query/sql/sub_select.hpp"

// SQL statements as queries. The grammar (parse.cpp) calls the builder for each clause that it recognises; the builder
// keeps what it cannot place yet, such as aggregates and sorted NULLs, and makes the query of it when the statement
// ends. Each name keeps its offset, so that errors have a line and a column. Work is linear in the length of the
// statement.
namespace skyrank::query {

/// The clauses of a statement, in their order.
enum class Clause {
  select,
  from,
  where,
  group_by,
  aggregate,
  having,
  prefer,
  partition_by,
  levels,
  pick,
  order_by,
  limit,
  offset,
  ties,
  options
};

/// Returns a tree with other nodes in place of columns; a null `replacement` leaves the column.
NodePtr replace_columns(const NodePtr& node, const std::function<NodePtr(const Node&)>& replacement);

/// Builds a query from what the grammar (parse.cpp) finds. The `read_` functions are rules of the grammar: they return
/// the offset behind what they read and the spaces after it, or nothing where something else stands.
class SqlBuilder {
 public:
  /// Reads `text` with the names of tables before columns, `shown`, in names of the answer alone.
  SqlBuilder(std::string_view text, std::string_view shown, const PlaceFunction& place, std::optional<SubSelect> sub,
             bool is_inner);

  /// Throws a QueryError; bytes of the statement that are no text become '?' in its message.
  [[noreturn]] void fail(std::size_t offset, std::string message) const { fail(place_(offset), std::move(message)); }
  [[noreturn]] static void fail(const Location& place, std::string message);
  [[noreturn]] void fail_expecting(std::size_t offset, const std::string& expected) const;

  /// Notes that a clause begins; an error where it comes twice or too late.
  void begin(std::size_t offset, Clause clause, std::string_view word);

  // Rules.
  std::optional<std::size_t> read_expression(std::size_t offset);
  std::optional<std::size_t> read_preferred(std::size_t offset);
  std::optional<std::size_t> read_value(std::size_t offset);
  std::optional<std::size_t> read_box_size(std::size_t offset);
  std::optional<std::size_t> read_integer(std::size_t offset);
  std::optional<std::size_t> read_measure(std::size_t offset);
  std::optional<std::size_t> read_alias(std::size_t offset);
  /// A name behind a selected expression, without AS, if ',' or FROM follows it.
  std::optional<std::size_t> read_bare_alias(std::size_t offset);
  /// DISTINCT, unless it is the name of a column.
  std::optional<std::size_t> read_select_distinct(std::size_t offset);
  /// `<= k`, `< k` or `= 1` behind ROW_NUMBER() OVER (...).
  std::optional<std::size_t> read_row_limit(std::size_t offset);
  std::optional<std::size_t> read_table(std::size_t offset);
  std::optional<std::size_t> read_option_text(std::size_t offset);
  /// COUNT, SUM, MIN, MAX or AVG and '(', unless what follows is min or max of several values.
  std::optional<std::size_t> open_aggregate(std::size_t offset);
  /// '(' around a preference, not around an expression.
  std::optional<std::size_t> open_preferences(std::size_t offset);

  // Actions on what was read last.
  void end_selected();
  void end_aggregate(bool star);
  void define_aggregate();
  void refer_to_aggregate();
  void where();
  void having() { query_.having(over_groups(take_expression())); }
  void group_column() { add_key(group_by_); }
  void partition_column() { add_key(partition_by_); }
  void rank(bool high);
  void nulls_first(std::size_t offset) { nulls_first_.push_back(offset); }
  void nulls_last(std::size_t offset) { nulls_last_.push_back(offset); }
  void levels();
  void at_least() { query_.at_least(integer_); }
  void skyband();
  void skyband_of_all() { query_.skyband(kAllRows); }
  void pick() { pick_ = Pick{integer_, Pick::By::distance, {}}; }
  void reference_value();
  void end_pick();
  void qualify();
  void number_rows();
  void limit() { query_.limit(integer_); }
  void offset() { query_.offset(integer_); }
  void with_ties() { query_.ties(Ties::all); }
  void distinct() { query_.distinct(true); }

  // Preferences.
  void enter(std::size_t offset);
  void leave() { --nesting_; }
  void open_composition() { marks_.push_back(preferences_.size()); }
  void close_composition(Preference::Kind kind, bool also_of_one);
  void term(Preference::Kind kind);
  void inverse();
  void weight() { weights_.push_back(take_expression()); }
  void end_weights();
  void feasible() { feasible_ = take_expression(); }
  void violation() { violations_.push_back(take_expression()); }
  void around();
  void begin_set() { sets_.emplace_back(); }
  void add_to_set() { sets_.back().push_back(std::move(value_)); }
  void end_value_term();
  void prefer();
  void end_skyline();

  // Options.
  void begin_option() { option_texts_.clear(); }
  void end_option();

  /// Returns true within a sub-select.
  bool is_inner_at(std::size_t /*offset*/) const { return is_inner_; }

  SqlStatement finish();
  SubSelect finish_sub_select(std::size_t begin, std::size_t end);

 private:
  struct Text {
    std::string text;
    std::size_t offset;
  };
  // A call of an aggregate, `arguments` being the offset behind its '('.
  struct AggregateCall {
    Aggregate::Function function;
    std::size_t begin;
    std::size_t arguments;
    std::size_t end;
  };

  void hide_aggregates();
  Expression parse(std::size_t offset, std::span<const std::string_view> reserved, std::size_t& end);
  NodePtr with_aggregates(const NodePtr& root, std::span<const AggregateCall> calls);
  const Aggregate& aggregate_of(const AggregateCall& call);
  NodePtr behind_sub_select(const NodePtr& root, const Location& origin);
  bool is_named(const std::string& name) const;
  std::int64_t last_number(const Expression& condition) const;
  void check_sub_select(std::size_t offset, Clause clause, const std::string& name) const;
  const Aggregate& known_or_added(const Aggregate& aggregate);
  Expression over_groups(Expression expression) const;
  bool holds_aggregate(const Node& node) const;
  void check_one_row() const;
  bool is_defined(const std::string& name) const;
  std::string written() const;
  std::optional<std::size_t> read(std::size_t offset, std::span<const std::string_view> reserved);
  std::size_t after(std::size_t offset) const;
  std::string advice(std::string_view found, const std::string& expected) const;
  std::optional<Text> read_name(std::size_t offset, std::size_t& end) const;
  Expression take_expression();
  Value value_of(const Node& node, std::size_t offset) const;
  std::vector<Value> members_of(const Node& node) const;
  Preference preference_of(const Expression& expression) const;
  Aggregate& add_aggregate(Aggregate aggregate, std::size_t offset);
  Expression behind_alias(Expression expression) const;
  void add_key(std::vector<GroupKey>& keys);
  GroupKey key_behind_alias(Expression expression);
  SelectItem* item_at_position();
  GroupKey key_of(SelectItem& item);
  void group_by_selected();
  void set_using();
  void settle_nulls();
  const Text& option_text(std::string_view example) const;
  // Runs `make` and gives errors that know no place that of `offset`.
  template <class Make>
  auto at(std::size_t offset, const Make& make) const {
    try {
      return make();
    } catch (const QueryError& error) {
      if (error.location().line > 0) throw;
      fail(offset, error.message());
    }
  }

  std::string_view text_;
  std::string_view shown_;
  std::optional<SubSelect> sub_;
  struct SubColumn {
    const SelectItem* item;
    std::size_t nodes;
  };
  std::unordered_map<std::string, SubColumn> sub_columns_;
  std::size_t sub_nodes_ = 0;  // put in place of columns so far
  bool is_inner_ = false;
  std::optional<std::string> number_;  // the name of ROW_NUMBER() OVER (...)
  std::string read_name_;              // of the expression read last, if it is a column of a sub-select
  std::string hidden_text_;            // the same with names in place of aggregates
  std::vector<AggregateCall> calls_;   // the outermost ones, by their places
  const PlaceFunction& place_;
  Query query_;
  Location table_;
  std::optional<Clause> last_;
  std::string last_word_;
  std::size_t prefer_at_ = 0;

  std::optional<Expression> expression_;  // read last
  std::size_t expression_at_ = 0;
  std::size_t expression_end_ = 0;
  bool holds_aggregates_ = false;
  std::map<std::pair<std::int64_t, std::int64_t>, NodePtr> hidden_columns_;  // of aggregates, by line and column
  std::int64_t integer_ = 0;
  std::size_t integer_at_ = 0;
  Value value_;
  std::optional<Text> alias_;

  Aggregate::Function function_ = Aggregate::Function::count;
  std::optional<Aggregate> pending_;  // an aggregate that was read last
  std::size_t aggregate_at_ = 0;
  std::optional<std::size_t> first_aggregate_;
  std::vector<Aggregate> aggregates_;
  std::unordered_map<std::string, std::size_t> aggregate_names_;  // and their places in aggregates_
  std::unordered_map<std::string, std::size_t> aggregate_calls_;  // the same by function and argument
  std::optional<std::size_t> select_distinct_;                    // its place
  std::vector<SelectItem> selected_;
  std::unordered_map<std::string, std::size_t> selected_names_;  // and their places in selected_
  std::unordered_set<std::string> key_names_;                    // of the clause that is read
  std::vector<GroupKey> group_by_;
  std::vector<GroupKey> partition_by_;
  bool is_qualified_ = false;  // QUALIFY ranks and limits
  std::vector<RankTerm> ranking_;
  std::vector<std::size_t> nulls_first_;  // places of NULLS FIRST, and of NULLS LAST, in ORDER BY
  std::vector<std::size_t> nulls_last_;

  int nesting_ = 0;
  std::vector<Preference> preferences_;
  std::vector<std::size_t> marks_;
  Pick pick_;
  std::optional<Value> target_;
  std::optional<Value> box_size_;  // of a term that is read
  std::size_t box_size_at_ = 0;
  std::optional<Expression> feasible_;
  std::vector<Expression> violations_;
  std::vector<Expression> weights_;
  std::vector<std::vector<Value>> sets_;

  std::vector<Text> option_texts_;  // key, then values; of parameters names and values in turn
  std::vector<std::string> options_seen_;
  PlacedPath path_;
};

}  // namespace skyrank::query
