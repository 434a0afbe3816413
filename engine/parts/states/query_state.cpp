#include "engine/parts/states/query_state.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/operators/group/group_plan.hpp"
#include "engine/operators/scan/scan_plan.hpp"
#include "engine/parts/memory/parts_memory.hpp"
#include "engine/parts/states/candidate_state.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/parts/states/unite.hpp"
#include "engine/runtime/stopwatch.hpp"
#include "engine/stop.hpp"

namespace skyrank::exec {
namespace {

template <class T>
void append(std::vector<T>&& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

template <class T>
void truncate(std::vector<T>& list, std::size_t size) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(size), list.end());
}

/// Calls f, which copies rows of states, within the engine's limit of memory and where it hears of a stop.
template <class F>
auto limited_copies(const StateSteps& steps, const F& f) {
  const std::stop_token stop = steps.context.stop();
  const StopScope heard(stop);
  return guarded(steps.context.limits,
                 [&] { return with_counted_copies(steps.context.engine, steps.query.location, f); });
}

}  // namespace

void check_place(const Location& query_location, std::int64_t rows, RowId first_row) {
  if (first_row >= 0 && first_row <= std::numeric_limits<RowId>::max() - rows) return;
  throw DataError("a part of " + std::to_string(rows) + " rows cannot begin at row " + std::to_string(first_row) +
                      "; rows count from 0 to 9223372036854775806",
                  query_location);
}

PlanNode plan_of_part(const query::BoundQuery& query, const Table& part, std::optional<PlanNode> candidates) {
  if (!candidates) {
    candidates.emplace().op = "scan";
    candidates->detail = describe_scan(query, part);
    candidates->predicted_rows = static_cast<double>(part.num_rows());
    candidates->predicted_rows_low = candidates->predicted_rows_high = candidates->predicted_rows;
  }
  if (!query.group) return *std::move(candidates);
  PlanNode group;
  group.op = "group";
  group.detail = describe_group(*query.group, part);
  group.rules = std::exchange(candidates->rules, {});
  group.decisions = std::exchange(candidates->decisions, {});
  group.predicted_rows_high = candidates->predicted_rows_high;
  group.children.push_back(*std::move(candidates));
  return group;
}

namespace {

/// Returns the plan of what was done with a part, after the runs of queries over it, if there were any.
PlanNode plan_that_ran(const query::BoundQuery& query, const Table& part, const std::vector<Result>& runs,
                       std::size_t left, double ms) {
  std::optional<PlanNode> candidates;
  if (!runs.empty()) candidates = runs.front().plan;
  PlanNode plan = plan_of_part(query, part, std::move(candidates));
  if (runs.empty()) (query.group ? plan.children.front() : plan).measured_rows = part.num_rows();
  if (query.group) {
    plan.measured_rows = static_cast<std::int64_t>(left);
    plan.measured_ms = ms;
  }
  return plan;
}

/// Calls f(kind), which gives the state of rows of a part, and records what it does.
template <class F>
Partial recorded(const StateSteps& steps, const Table& part, RowRange covers, std::vector<Result>* runs, const F& f) {
  return limited_copies(steps, [&]() -> Partial {
    std::vector<Result> own;
    std::vector<Result>& of_part = runs != nullptr ? *runs : own;
    const StateContext context{steps.context, steps.query, steps.run, &of_part};
    Stopwatch watch;
    StateRows left = f(*kind_of(context));
    const double ms = watch.lap();
    if (steps.record != nullptr) {
      steps.record->add(plan_that_ran(steps.query, part, of_part, left.rows.size(), ms), ms);
    }
    return {steps.fingerprint, {covers}, std::move(left.rows), std::move(left.columns)};
  });
}

}  // namespace

Partial partial_of(const StateSteps& steps, const Table& part, RowId first_row, std::vector<Result>* runs) {
  check_place(steps.query.location, part.num_rows(), first_row);
  return recorded(steps, part, {first_row, first_row + part.num_rows()}, runs,
                  [&](const StateKind& kind) { return kind.sink(part, first_row); });
}

Partial partial_of(const StateSteps& steps, const StateRows& rows, RowRange covers, std::vector<Result>* runs) {
  return recorded(steps, rows.columns, covers, runs, [&](const StateKind& kind) { return kind.combine(rows); });
}

void take_passing(const StateSteps& steps, const Table& part, RowId first_row,
                  const std::function<void(const Rows&)>& take) {
  check_place(steps.query.location, part.num_rows(), first_row);
  limited_copies(steps, [&] {
    std::vector<Result> runs;
    const StateContext context{steps.context, steps.query, steps.run, &runs};
    Stopwatch watch;
    std::vector<RowId> found;
    Rows passing{part.num_rows(), nullptr};
    if (steps.query.condition) {
      found = with_global_rows([&] { return candidates_of(context, steps.query, part); },
                               [&](RowId row) { return first_row + row; });
      passing = {std::ssize(found), found.data()};
    }
    take(passing);
    const double ms = watch.lap();
    if (steps.record == nullptr) return;
    steps.record->add(plan_that_ran(steps.query, part, runs, static_cast<std::size_t>(passing.n), ms), ms);
  });
}

template <class F>
auto QueryState::with_kind(const QueryContext& context, const F& f) const {
  const auto run = [&](const query::BoundQuery& query) {
    const StateContext of_state{context, query, steps_.run};
    return limited_copies(steps_, [&] { return f(*kind_of(of_state)); });
  };
  if (!steps_.path_of_few_rows) return run(steps_.query);
  if (rows_ > Doubling::kFewRows) {
    try {
      return run(steps_.query);
    } catch (const GpuMemoryError&) {  // the other one needs none
    }
  }
  query::BoundQuery of_few = steps_.query;
  of_few.path = *steps_.path_of_few_rows;
  return run(of_few);
}

void QueryState::sink(const Table& part, RowId first_row) { combine(partial_of(steps_, part, first_row)); }

void QueryState::combine(Partial partial) {
  QueryState other(steps_, Doubling::never());
  other.add(std::move(partial));
  combine(std::move(other));
}

void QueryState::add(Partial partial) {
  const std::size_t rows = partial.rows().size();
  std::vector<Counted> charge;
  if (steps_.charge) charge.push_back({rows, steps_.charge(rows)});
  partials_.push_back(std::move(partial));
  try {
    append(std::move(charge), charges_);
  } catch (...) {
    partials_.pop_back();
    throw;
  }
  rows_ += rows;
}

void QueryState::combine(QueryState&& other) {
  const std::size_t partials = partials_.size();
  const std::size_t charges = charges_.size();
  rows_ += other.rows_;
  try {
    append(std::move(other.partials_), partials_);
    append(std::move(other.charges_), charges_);
    if (is_due()) reduce();
  } catch (...) {
    truncate(partials_, partials);
    truncate(charges_, charges);
    rows_ -= other.rows_;
    throw;
  }
}

Result QueryState::finalize(std::shared_ptr<const TableOrigin> origin) const {
  if (partials_.empty()) throw DataError("merging needs at least one partial answer", steps_.query.location);
  return with_kind(steps_.context.over(std::move(origin)),
                   [&](const StateKind& kind) { return kind.finalize(unite(partials_).state); });
}

std::optional<Partial> QueryState::partial() const {
  if (partials_.empty()) return std::nullopt;
  return partials_.size() == 1 ? partials_.front() : merged();
}

void QueryState::clear() {
  partials_.clear();
  charges_.clear();
  rows_ = 0;
}

CountedRows QueryState::rows() && {
  // Parts of consecutive rows are then in the order of their rows, as they end up.
  std::ranges::sort(partials_, {}, [](const Partial& partial) {
    return partial.covers().empty() ? RowId{0} : partial.covers().front().begin;
  });
  CountedRows all{unite(partials_).state, {}};
  for (Counted& one : charges_) all.charges.push_back(std::move(one.charge));
  return all;
}

Partial QueryState::merged() const {
  return with_kind(steps_.context, [&](const StateKind& kind) -> Partial {
    United all = unite(partials_);
    StateRows left = kind.combine(all.state);
    return {steps_.fingerprint, std::move(all.covers), std::move(left.rows), std::move(left.columns)};
  });
}

void QueryState::reduce() {
  if (partials_.size() > 1) {
    std::vector<Partial> one;
    one.push_back(merged());
    partials_ = std::move(one);
    rows_ = partials_.front().rows().size();
  }
  doubling_.reduced_to(rows_);
  give_back_charges();
}

// Whole ones, so that no other query takes the memory before what is left is counted anew.
void QueryState::give_back_charges() {
  std::size_t counted = 0;
  for (const Counted& one : charges_) counted += one.rows;
  while (!charges_.empty() && counted - charges_.back().rows >= rows_) {
    counted -= charges_.back().rows;
    charges_.pop_back();
  }
}

}  // namespace skyrank::exec
