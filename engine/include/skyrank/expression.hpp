#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <skyrank/error.hpp>
#include <skyrank/export.hpp>
#include <skyrank/types.hpp>

// Declares expressions over the columns of a row: the parts of queries that compute values.
namespace skyrank {
inline namespace v0 {
class Expression;
}  // namespace v0

namespace query {
struct Node;  // engine/query/ast.hpp
Expression make_expression(std::shared_ptr<const Node> root, Location location);
const Node& root_of(const Expression& expression) noexcept;
}  // namespace query

inline namespace v0 {

/// A parsed expression over column names: numbers, strings, dates, timestamps, columns, + - * / %, comparison, and or
/// not, in, between, like, is null, case when, and functions (engine/docs/query-language.md). A value: cheap to copy,
/// compared by meaning (white space, redundant parentheses and place in the source do not count).
class SKYRANK_EXPORT Expression {
 public:
  /// Parses; QueryError with line and column inside `text`.
  Expression(std::string_view text);  // NOLINT: text is an expression
  /// Parses; QueryError with line and column inside `text`.
  Expression(const char* text);  // NOLINT
  /// Parses; QueryError with line and column inside `text`.
  Expression(const std::string& text);  // NOLINT
  /// Parses text found at `origin`; places in errors are relative to that origin.
  Expression(std::string_view text, const Location& origin);
  /// Makes an expression that is a column, by its exact name; no quoting needed.
  static Expression column(std::string_view name);
  /// Makes an expression that is one value; QueryError for a float that is not finite.
  static Expression literal(Value value);

  /// Canonical text; parses back to an equal expression.
  std::string text() const;
  /// Returns the parsed form, which only the engine can read.
  [[deprecated("use text")]] const query::Node& root() const noexcept { return *root_; }
  /// Place of the first character.
  const Location& location() const noexcept { return location_; }
  /// The column's name where the expression is nothing but a column, else empty.
  std::string_view column_name() const noexcept;

  /// Returns true if both have the same meaning; places do not count.
  bool operator==(const Expression& other) const;

 private:
  friend Expression query::make_expression(std::shared_ptr<const query::Node> root, Location location);
  friend const query::Node& query::root_of(const Expression& expression) noexcept;
  explicit Expression(std::shared_ptr<const query::Node> root, Location location = {});

  std::shared_ptr<const query::Node> root_;
  Location location_;
};

}  // namespace v0
}  // namespace skyrank
