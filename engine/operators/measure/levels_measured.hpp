#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/operators/candidates.hpp"
#include "engine/operators/skyline/skyline_stage.hpp"

// Measures of rows among those of their Pareto level.
namespace skyrank::exec {

/// Whole Pareto levels that have the candidates of a query, with the values of their rows in the terms of the
/// preference. Rows that lack a value take no part. Not all rows of these levels are candidates where a skyband is
/// asked for; otherwise they are.
class MeasuredLevels {
 public:
  /// `from` has the places of the candidates among the keys, for rows of `table`. All must outlive it.
  MeasuredLevels(const query::BoundQuery& query, const Table& table, const ChosenFrom& from,
                 const Candidates& candidates, const ExecutionContext& context);

  /// Returns a measure of each candidate; NULL for those that lack a value.
  Column column(const query::BoundMeasure& measure) const;

 private:
  using Values = Vector<double>;
  /// Rows of one level, by their numbers among all rows that were numbered.
  using Rows = std::span<RowId>;

  void number_candidates();
  void number_all(bool distinct);
  void add_levels(std::span<const std::int64_t> rows, std::span<const std::int32_t> levels);
  void add_values(const query::BoundPreference& term, const Table& table, const exec::Rows& rows);
  void drop_incomplete();

  void find_crowding(Rows level, Values& out) const;
  void find_contributions(Rows level, const std::vector<double>& reference, Values& out) const;
  void find_compromise(Rows level, const std::vector<double>& weights, Values& out) const;

  const ChosenFrom& from_;
  const Candidates& candidates_;
  const ExecutionContext& context_;
  Vector<RowId> numbers_;           ///< number of each candidate
  Vector<RowId> members_;           ///< numbers of rows, level by level and ascending within each
  Vector<std::int64_t> bounds_{0};  ///< bounds of the levels among them
  std::vector<Values> values_;      ///< values of each term, by number; NaN where missing
  std::vector<bool> high_;          ///< terms of which larger values are better
};

}  // namespace skyrank::exec
