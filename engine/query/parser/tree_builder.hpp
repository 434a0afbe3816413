#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/query/ast.hpp"

// The actions of the expression grammar (grammar.hpp), which YAML, SQL and the C++ API share. Recursion is in the
// grammar alone: the builder keeps a stack of finished operands, and refuses what nests deeper than kMaxNesting or
// grows higher than kMaxHeight.
namespace skyrank::query {

/// Builds the tree of an expression bottom-up while its text is parsed: finished operands lie on a stack; a mark
/// remembers where a list of them begins. Offsets are those of a node's first character in the text.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const PlaceFunction& place) : text_(text), place_(place) {}
  TreeBuilder(std::string_view text, const PlaceFunction& place, std::span<const std::string_view> sql_words)
      : text_(text), place_(place), sql_(true), sql_words_(sql_words) {}

  bool is_sql_at(std::size_t /*offset*/) const { return sql_; }
  /// Returns true if the word at `offset` belongs to the SQL statement around the expression.
  bool is_reserved_at(std::size_t offset) const;

  /// Counts the levels of nesting.
  void enter(std::size_t offset);
  void leave() { --nesting_; }

  void push_literal(std::size_t offset, Value value);
  void push_number(std::size_t offset, std::string_view text);
  void push_name(std::size_t offset, std::string_view name) { push_column(offset, std::string(name), false); }
  /// Takes what stands between the quotes: a string, or a name.
  void push_quoted(std::size_t offset, std::string_view inner);

  /// Replaces the last `count` operands by one node over them; it begins where its first operand does.
  void combine(Op op, std::size_t count, bool negated);
  void combine_at(std::size_t offset, Op op, std::size_t count, bool negated);
  void combine_named(std::size_t offset, std::string name, Op op, std::size_t count, bool negated);
  /// Makes the number that was pushed last its negative.
  void negate_number();

  void open(std::size_t offset) { marks_.push_back({offset, items_.size()}); }
  /// Closes the list that was opened last, over `outside` operands before it as well.
  void close(Op op, std::size_t outside, bool negated);

  /// Closes CASE e WHEN v THEN ...: the conditions are that e equals each v.
  void close_simple_case();

  /// Calls of functions of rows, such as level(), are pseudo-columns whatever the table stores.
  void open_call(std::size_t offset, std::string_view text);
  void close_call();

  /// Replaces the string that was pushed last by the date or the timestamp that it says.
  void make_date(std::size_t offset);
  void make_timestamp(std::size_t offset);

  /// Replaces the value in `cast(value as type)`, or before `::type`, by its cast.
  void close_cast(std::size_t offset, std::string_view type);
  void cast_last(std::size_t offset, std::string_view type);

  /// Writes the pattern before ESCAPE with a backslash in place of the character behind it.
  void escape_pattern();

  /// Remembers the place of a quote, for the message that it does not end.
  void begin_quoted(std::size_t offset) { quote_ = offset; }
  [[noreturn]] void fail_unclosed() const;
  [[noreturn]] void fail_expecting(std::size_t offset, std::string_view expected) const;

  NodePtr result() && { return std::move(items_.back().node); }

 private:
  struct Item {
    NodePtr node;
    std::size_t offset;
    int height;
  };
  struct Mark {
    std::size_t offset;
    std::size_t items;
  };
  /// A call that is open: of a function of values, or of rows.
  struct Call {
    const FunctionInfo* of_values = nullptr;
    const RowFunction* of_rows = nullptr;
  };

  [[noreturn]] void fail(std::size_t offset, const std::string& message) const;
  template <class Parse>
  void convert_string(std::size_t offset, Parse parse, const char* what, const char* example);
  void push_column(std::size_t offset, std::string name, bool in_quotes);
  void make_cast(std::size_t begin, std::size_t offset, std::string_view type);
  void push(std::size_t offset, Node node, int height);
  Value number(std::size_t offset, std::string_view text) const;
  Value negated_number(std::size_t offset, const Value& value) const;
  const FunctionInfo& find_function(std::size_t offset, std::string_view name) const;
  void close_call_of_rows(const RowFunction& function);

  std::string_view text_;
  const PlaceFunction& place_;
  std::vector<Item> items_;
  std::vector<Mark> marks_;
  std::vector<Call> calls_;
  std::size_t quote_ = 0;
  int nesting_ = 0;
  bool sql_ = false;
  std::span<const std::string_view> sql_words_;
};

}  // namespace skyrank::query
