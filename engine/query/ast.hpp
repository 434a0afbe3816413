#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/types.hpp>

// The tree of a parsed expression, as the text has it: names are not resolved and types are not known (bound.hpp is the
// same after both). Nodes are immutable and shared, so that rewriting a tree copies the path to what changes alone.
namespace skyrank::query {

enum class Op {
  // leaves
  literal,  // Node::value
  column,   // Node::name
  // arithmetic
  negate,
  add,
  subtract,
  multiply,
  divide,
  modulo,
  // comparison
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  // logic
  logical_and,
  logical_or,
  logical_not,
  // predicates; `negated` for the NOT forms
  in,       // children: the operand, then the members
  between,  // children: the operand, lower, upper
  is_null,  // one child
  like,     // children: the text, the pattern
  concat,   // two texts, one behind the other
  // functions
  abs,
  min,
  max,
  sqrt,
  log,
  exp,
  floor,
  ceil,
  round,
  // children: the value, and a literal: the size of boxes, or the ratio of one box to the next
  bucket,
  log_bucket,
  coalesce,
  // parts of dates and timestamps
  year,
  month,
  day,
  hour,
  minute,
  second,
  weekday,
  // text
  length,
  lower,
  upper,
  // children: condition, value, condition, value, ..., [else value]; an odd number of children means an else
  case_when,
  cast,  // one child; Node::name is the name of the type, as cast_type() returns it
};

struct Node;
using NodePtr = std::shared_ptr<const Node>;

/// One node of a parsed expression. Immutable once built.
struct Node {
  Op op = Op::literal;
  Value value;           // literal; a Decimal where the float64 nearest to a number does not tell what was written
  std::string name;      // column, cast
  bool exact = false;    // column: written in backquotes, so never a pseudo-column; set only where the name is one's
  bool negated = false;  // in, between, is_null, like
  std::vector<NodePtr> children;
  // Place of the node's first character in the text it came from, counted as in Location; 0 = unknown. Not compared.
  std::int64_t line = 0;
  std::int64_t column = 0;
  // The text of a whole expression, where it may be the name of a column; else empty. Not compared.
  std::string written;
  // The error of a text that is no expression: it stands for the column that it names. Not compared.
  std::shared_ptr<const QueryError> unreadable;
  // True for the sum of terms at a corner of a region of weights, as 'weights' makes it. Not compared, and not written.
  bool at_corner = false;
};

/// A function of a row among the others, such as level(). A call of it is a column whose name is the call's text, as
/// other pseudo-columns are; its children are the numbers that it takes.
struct RowFunction {
  std::string_view name;
  bool takes_numbers = false;
};
std::span<const RowFunction> row_functions();

/// Returns true for what `select` may name besides the table's columns: "row", "level", "score", and calls of functions
/// of rows.
bool is_pseudo_column(std::string_view name);

/// Returns the place of a node in a text; that of the whole expression, `origin`, where the node has none of its own.
Location place_of(const Node& node, const Location& origin);

/// Equality of meaning: everything but places.
bool equal(const Node& a, const Node& b);

/// Canonical text: minimal parentheses, one space around binary operators, backquotes where a name needs them.
std::string to_text(const Node& node);

/// The text as a part of a SQL statement: keywords in capitals, lists in parentheses, double quotes where a name needs
/// them. `as_operand` puts everything that binds less tightly than a sum in parentheses.
std::string to_sql_text(const Node& node, bool as_operand = false);

/// "+", "and", "is null", "abs", ... for messages.
std::string_view spelling(Op op);
/// Returns true for +, -, *, / and % of two operands.
constexpr bool is_arithmetic(Op op) { return op >= Op::add && op <= Op::modulo; }
/// Returns true for year, month, ..., weekday.
constexpr bool is_time_part(Op op) { return op >= Op::year && op <= Op::weekday; }
/// Returns true for =, !=, <, <=, > and >=.
constexpr bool is_comparison(Op op) { return op >= Op::equal && op <= Op::greater_equal; }
/// The comparison that says the same with its operands exchanged: `<` for `>`, and so on.
Op exchanged(Op comparison);

/// A function of the expression language and the number of arguments it takes.
struct FunctionInfo {
  std::string_view name;
  Op op;
  std::size_t min_arguments;
  std::size_t max_arguments;  ///< 0: any number
};
std::span<const FunctionInfo> functions();

/// Words that name no column unless they stand in backquotes: "and", "between", ...
std::span<const std::string_view> reserved_words();

/// Nesting of parentheses, functions and prefix operators that the parser accepts, and height of the trees it builds
/// (`a + b + c` has height 3): both bound the recursion of everything that walks an expression. Preferences nest as
/// deep as expressions.
inline constexpr int kMaxNesting = 100;
inline constexpr int kMaxHeight = 1000;

/// Parses; QueryError with line and column relative to `origin`. Refuses what exceeds kMaxNesting or kMaxHeight.
NodePtr parse_expression(std::string_view text, const Location& origin);

/// The same for text whose characters do not lie in one stretch of their source, such as a folded YAML scalar: `place`
/// says where the byte at an offset (up to text.size()) stands.
using PlaceFunction = std::function<Location(std::size_t offset)>;
NodePtr parse_expression(std::string_view text, const PlaceFunction& place);

/// An expression at the beginning of a longer text, and where it ends: before the first token that does not continue
/// it.
struct ParsedPrefix {
  NodePtr root;
  std::size_t end = 0;  // offset in the whole text, after spaces
};

/// Parses the expression that begins at `offset` in a SQL statement: names may stand in double quotes, and words that
/// are `reserved` (in any case) are no names without quotes.
ParsedPrefix parse_sql_expression(std::string_view text, std::size_t offset, std::span<const std::string_view> reserved,
                                  const PlaceFunction& place);

}  // namespace skyrank::query
