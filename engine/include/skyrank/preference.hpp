#pragma once

#include <optional>
#include <vector>

#include <skyrank/export.hpp>
#include <skyrank/expression.hpp>

// Declares preferences, which say that one row is better than another: terms over expressions, and compositions.
namespace skyrank {
inline namespace v0 {

/// A strict partial order on rows, built from terms on single expressions by Pareto and prior composition. A value.
struct SKYRANK_EXPORT Preference {
  /// The kinds of terms and compositions.
  enum class Kind { low, high, around, between, in, where, pareto, prior, inverse };

  Kind kind = Kind::pareto;                ///< decides which of the other members count
  std::optional<Expression> expression;    ///< all but pareto, prior, inverse
  Value target;                            ///< around: the target; between: the lower end, NULL for none
  Value upper;                             ///< between: the upper end, NULL for none
  std::vector<std::vector<Value>> values;  ///< in: sets, best first
  std::vector<Preference> children;        ///< pareto, prior: one or more; inverse: one

  /// Makes a composition without children, to fill in.
  Preference() = default;
  /// Copies the whole tree.
  Preference(const Preference&) = default;
  /// Moves the whole tree.
  Preference(Preference&&) noexcept = default;
  /// Copies the whole tree.
  Preference& operator=(const Preference&) = default;
  /// Moves the whole tree.
  Preference& operator=(Preference&&) noexcept = default;
  /// Ends a tree of any depth without recursion.
  ~Preference();

  /// Returns true for a term on one expression, false for a composition.
  bool is_term() const { return kind != Kind::pareto && kind != Kind::prior && kind != Kind::inverse; }
  bool operator==(const Preference&) const = default;
};

/// Smaller values are better.
SKYRANK_EXPORT Preference low(Expression expression);
/// Larger values are better.
SKYRANK_EXPORT Preference high(Expression expression);
/// Smaller distance to `target` is better. Every finite value is equally far from an infinite target.
SKYRANK_EXPORT Preference around(Expression expression, Value target);
/// Inside [from, to] is best; outside, smaller distance to the range is better. Null{} in place of an end leaves the
/// range open there. QueryError when from > to.
SKYRANK_EXPORT Preference between(Expression expression, Value from, Value to);
/// A row with a value of an earlier set is better; in no set is worst. QueryError when a value comes twice.
SKYRANK_EXPORT Preference in(Expression expression, std::vector<std::vector<Value>> values);
/// Rows for which the condition is true are better.
SKYRANK_EXPORT Preference where(Expression condition);
/// All count equally: better or equal in all, better in one. QueryError, here and below, for more than 100 levels.
SKYRANK_EXPORT Preference pareto(std::vector<Preference> terms);
/// The first decides; only where it finds rows equal, the next.
SKYRANK_EXPORT Preference prior(std::vector<Preference> terms);
/// The reverse order among values; NaN and NULL stay worst.
SKYRANK_EXPORT Preference inverse(Preference preference);
/// Rows for which the condition is true come before all others, which smaller violations order: the first decides, and
/// only where it finds rows equal, the next. `preference` decides between rows that meet the condition, and between
/// rows with equal violations. It is a `prior` of these parts (Deb, "An efficient constraint handling method for
/// genetic algorithms", CMAME 186, 2000).
SKYRANK_EXPORT Preference feasible(Expression condition, std::vector<Expression> violations, Preference preference);
/// A row is better if its sum of the terms is less under all weights that are 0 or more, sum to 1 and fulfil the
/// constraints, such as "price >= 2 * rating", where terms stand for their weights; values of `high` terms count
/// negated. It is the Pareto order of the sums at the corners of that region (Ciaccia and Martinenghi, "Flexible
/// Skylines", ACM TODS 45(4), 2020). QueryError for other terms than `low` and `high`, for constraints that are not
/// linear, for a region that is empty, and for one of more than 64 corners.
SKYRANK_EXPORT Preference weighted(std::vector<Preference> terms, const std::vector<Expression>& constraints);
/// Values of a `low` or `high` term compare by their boxes: bucket(e, size) of a number, and of a text such as "7d" for
/// times; log_bucket(e, ratio) of a text such as "10%". QueryError for another term and for what is no size.
SKYRANK_EXPORT Preference step(Preference term, Value size);

/// One term of a ranking.
struct SKYRANK_EXPORT RankTerm {
  Expression expression;  ///< the value to rank by
  bool high = false;      ///< true if larger values are better

  /// Makes a term of an expression and a direction.
  RankTerm(Expression e, bool larger_is_better) : expression(std::move(e)), high(larger_is_better) {}
  /// From `low(...)` or `high(...)`; QueryError for any other preference.
  RankTerm(const Preference& preference);  // NOLINT
  bool operator==(const RankTerm&) const = default;
};

}  // namespace v0
}  // namespace skyrank
