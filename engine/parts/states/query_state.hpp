#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/partial.hpp>
#include <skyrank/table.hpp>

#include "engine/expression/evaluate.hpp"
#include "engine/parts/memory/source_memory.hpp"
#include "engine/parts/states/parts_record.hpp"
#include "engine/parts/states/state_kind.hpp"

// Keeps what a query needs of the parts that it has seen. Parts come in any order, and states can be combined.
namespace skyrank::exec {

/// Says when a growing state is reduced to the rows that can still be in the answer: each time that it has twice as
/// many rows as after the last time. So the work of all reductions is that of a few, and the state has at most twice
/// the rows that it needs.
class Doubling {
 public:
  static constexpr std::size_t kFewRows = std::size_t{1} << 16;

  /// A state with up to twice `least` rows is left as it is.
  explicit Doubling(std::size_t least = kFewRows) : least_(least), rows_(least) {}

  /// A state that is reduced by whoever asks for its rows alone.
  static Doubling never() { return Doubling(std::numeric_limits<std::size_t>::max() / 2); }

  bool is_due(std::size_t rows) const { return rows > 2 * rows_; }
  void reduced_to(std::size_t rows) { rows_ = std::max(rows, least_); }

 private:
  std::size_t least_;
  std::size_t rows_;  // after the last reduction
};

/// How the states of a query run.
struct StateSteps {
  QueryContext context;
  query::BoundQuery query;                         ///< bound to the tables of the parts
  RunTable run;                                    ///< for queries over a part or a state
  std::string fingerprint = std::string(16, '0');  ///< names the query of partial answers
  /// How states of up to Doubling::kFewRows rows run, and larger ones that do not fit the memory of a GPU, if
  /// otherwise.
  std::optional<ForcedPath> path_of_few_rows = {};
  /// Counts so many rows as memory, or throws ResourceError; null: rows are not counted.
  std::function<SourceCharge(std::size_t rows)> charge = {};
  PartsRecord* record = nullptr;  ///< gets what was done with each part
};

/// Returns the plan of what is done with a part: that of the query for its candidates, and its groups. Without
/// candidates, all rows of the part are grouped.
PlanNode plan_of_part(const query::BoundQuery& query, const Table& part, std::optional<PlanNode> candidates);

/// DataError where a part of so many rows cannot begin at row `first_row` of a table.
void check_place(const Location& query_location, std::int64_t rows, RowId first_row);

/// Returns the partial answer over a part that begins at row `first_row` of the whole table. `runs`, if any, gets the
/// results of queries over the part, without their tables. Throws what Engine::partial throws.
Partial partial_of(const StateSteps& steps, const Table& part, RowId first_row, std::vector<Result>* runs = nullptr);

/// The same for those rows of a part that may be in the answer: `rows` has their positions in the whole table; the part
/// `covers` them and others.
Partial partial_of(const StateSteps& steps, const StateRows& rows, RowRange covers,
                   std::vector<Result>* runs = nullptr);

/// Calls take(rows) with the rows of a part that pass the query's condition, and records them as what the part leaves.
void take_passing(const StateSteps& steps, const Table& part, RowId first_row,
                  const std::function<void(const Rows& passing)>& take);

/// Rows of a state, and what counts them as memory.
struct CountedRows {
  StateRows state;
  std::vector<SourceCharge> charges;
};

/// The state of a query over the parts of a table that have been seen so far, in any order (state_kind.hpp). It is
/// reduced as it grows. A function that throws leaves it as it was. Not thread-safe: threads have a state each, and
/// these are combined.
class QueryState {
 public:
  /// `steps` outlive the state, and all that it is combined with have the same.
  explicit QueryState(const StateSteps& steps, Doubling doubling = Doubling()) : steps_(steps), doubling_(doubling) {}

  /// Takes in the rows of a part that begins at row `first_row` of the whole table. Throws what Engine::partial throws.
  void sink(const Table& part, RowId first_row);

  /// Takes in a partial answer of rows that this state has not seen. Throws what Engine::merge_partials throws.
  void combine(Partial partial);

  /// Takes in a partial answer as `combine` does, but leaves reducing to the caller.
  void add(Partial partial);

  /// Returns true if the state has so many rows that it had better be reduced.
  bool is_due() const { return doubling_.is_due(rows_); }

  /// Leaves out the rows that cannot be in the answer any more. Throws what Engine::merge_partials throws.
  void reduce();

  /// Takes in what another state has seen.
  void combine(QueryState&& other);

  /// Answers the query, whose plan shows `origin` below the rows of the state. Throws what Engine::merge throws.
  Result finalize(std::shared_ptr<const TableOrigin> origin = nullptr) const;

  /// Returns the state as one partial answer; nothing where it has seen no part. Throws what Engine::merge_partials
  /// throws.
  std::optional<Partial> partial() const;

  /// Returns the partial answers that it has: together they are the state.
  const std::vector<Partial>& partials() const { return partials_; }

  /// Forgets all that it has seen.
  void clear();

  /// Ends the state: returns its rows. Throws what Engine::merge throws for partial answers.
  CountedRows rows() &&;

  /// Returns the number of rows that the state has.
  std::size_t num_rows() const { return rows_; }

 private:
  /// Rows that count as memory.
  struct Counted {
    std::size_t rows;
    SourceCharge charge;
  };

  /// Calls f with the query's kind of state, on the path that fits the number of rows.
  template <class F>
  auto with_kind(const QueryContext& context, const F& f) const;
  Partial merged() const;
  void give_back_charges();

  const StateSteps& steps_;
  Doubling doubling_;
  std::vector<Partial> partials_;
  std::vector<Counted> charges_;
  std::size_t rows_ = 0;
};

}  // namespace skyrank::exec
