#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "tests/differential/generate.hpp"

namespace skyrank::differential {

/// Draws expressions over some fields.
class RandomExpressions {
 public:
  RandomExpressions(Random& random, std::vector<Field> fields) : random_(&random), fields_(std::move(fields)) {}

  const std::vector<Field>& fields() const { return fields_; }
  std::vector<ExpressionPtr> columns_of(const std::function<bool(Kind)>& wanted) const;

  ExpressionPtr number(int depth);
  ExpressionPtr text(int depth);
  ExpressionPtr time(int depth);
  ExpressionPtr condition(int depth);
  /// Draws what preferences and rankings order.
  ExpressionPtr key();

 private:
  using Maker = ExpressionPtr (RandomExpressions::*)(int);

  ExpressionPtr number_literal();
  ExpressionPtr time_literal(Domain domain);
  std::vector<ExpressionPtr> several(Maker make, int depth);
  ExpressionPtr choice(Maker make, int depth);
  /// Operands that compare with the first.
  std::vector<ExpressionPtr> comparable(std::size_t count, int depth, bool nulls);

  Random* random_;
  std::vector<Field> fields_;
};

/// Draws the preference of a query, with all that belongs to it: levels, skybands, picks, and the measures that it
/// allows.
class RandomPreferences {
 public:
  RandomPreferences(Random& random, RandomExpressions& expressions) : random_(random), expressions_(expressions) {}

  void add_to(Query& query);
  /// Adds a pick, and measures to the ranking. The rules for missing values are drawn before.
  void finish(Query& query);
  Measure measure(const Query& query);

 private:
  Preference preference(int depth);
  Preference flat();
  Preference term();
  Preference measured(const ExpressionPtr& value);
  /// A `low` or `high` term of numbers; only of columns, whose volumes round less often, if asked for.
  Preference number_term(bool small);
  Preference in_boxes(Preference term);
  void add_numbers(Query& query);
  void add_weights(Query& query);
  void add_condition(Query& query);
  void add_levels(Query& query);
  void add_pick(Query& query);

  Random& random_;
  RandomExpressions& expressions_;
  bool flat_ = false;      ///< one Pareto order of terms
  bool numbers_ = false;   ///< its terms are `low` and `high` of numbers
  bool sums_ = false;      ///< its terms are sums at the corners of weights
  bool behind_ = false;    ///< a condition comes before all terms
  bool pickable_ = false;  ///< a condition comes before one Pareto order
};

}  // namespace skyrank::differential
