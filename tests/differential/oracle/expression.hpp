#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

// Expressions of the query language as trees that know their own text and their own meaning. The engine gets the text;
// the oracle evaluates the tree, row by row, with no line of the engine.
namespace skyrank::differential {

__extension__ using Integer = __int128;

inline constexpr Integer kNsPerSecond = 1'000'000'000;
inline constexpr Integer kNsPerDay = 86'400 * kNsPerSecond;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Day {
  Integer number = 0;  ///< days since 1970-01-01
};

struct Moment {
  Integer ns = 0;  ///< since 1970-01-01 00:00:00
};

/// One value; std::monostate is NULL.
using Cell = std::variant<std::monostate, bool, Integer, double, Day, Moment, std::string>;
using Row = std::vector<Cell>;

enum class Kind { boolean, int64, uint64, float64, date, timestamp, string };

/// The type that a value is computed with.
struct Domain {
  Kind kind = Kind::int64;
  std::int64_t ns_per_tick = 1'000'000'000;  ///< length of a tick of timestamps

  bool operator==(const Domain& other) const {
    return kind == other.kind && (kind != Kind::timestamp || ns_per_tick == other.ns_per_tick);
  }
};

inline bool is_integer(Kind kind) { return kind == Kind::int64 || kind == Kind::uint64; }
inline bool is_number(Kind kind) { return is_integer(kind) || kind == Kind::float64; }
inline bool is_time(Kind kind) { return kind == Kind::date || kind == Kind::timestamp; }

/// The language does not say what the value is, or it says that there is none (an overflow): no case for a comparison.
class Undefined : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Op {
  literal,
  column,
  add,
  subtract,
  multiply,
  divide,
  modulo,
  negate,
  abs,
  floor,
  ceil,
  sqrt,
  log,
  exp,
  min,
  max,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  between,
  in,
  is_null,
  logical_and,
  logical_or,
  logical_not,
  case_when,   ///< condition, value, condition, value, ..., else
  bucket,      ///< value, and the size of boxes: a number, or a text for times
  log_bucket,  ///< value, and the ratio of boxes: a number of whole percents
};

struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

struct Expression {
  Op op = Op::literal;
  Domain domain;
  std::vector<ExpressionPtr> operands = {};
  Cell literal = {};
  std::size_t column = 0;
  bool negated = false;  ///< not in, not between, is not null
  std::string text = {};
};

ExpressionPtr literal(const Cell& value, Domain domain);
ExpressionPtr column(std::size_t index, Domain domain, const std::string& name);
/// Any operation; its domain follows from the operands'.
ExpressionPtr operation(Op op, std::vector<ExpressionPtr> operands, bool negated = false);

/// Throws Undefined.
Cell evaluate(const Expression& expression, const Row& row);

inline bool is_null(const Cell& cell) { return std::holds_alternative<std::monostate>(cell); }
bool is_nan(const Cell& cell);
/// Converts an integer or a double.
double as_double(const Cell& cell);

enum class Ordering { less, equal, greater, unordered };
/// Compares two values, neither of them NULL, exactly. NaN is unordered.
Ordering compare(const Cell& a, const Cell& b);

/// Returns the box of a value, as `bucket` and `log_bucket` make it. Throws Undefined.
Cell box_of(const Expression& bucket, const Cell& value);

/// The text of a value as expressions spell it; NULL is "null".
std::string spelled(const Cell& value, Domain domain);
std::string spelled(Integer value);
std::string spelled(double value);
/// "2017-05-01".
std::string spelled_date(Integer days);
/// "2017-05-01 12:00:00", with as many more digits as the unit has.
std::string spelled_moment(Integer ns, std::int64_t ns_per_tick);

}  // namespace skyrank::differential
