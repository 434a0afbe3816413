#include "engine/parts/states/query_state.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/executor/limits.hpp"
#include "engine/parts/states/unite.hpp"

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

}  // namespace

template <class F>
auto QueryState::run(const F& f) const {
  if (!steps_.of_few_rows) return f(steps_.query);
  if (rows_ > Doubling::kFewRows) {
    try {
      return f(steps_.query);
    } catch (const GpuMemoryError&) {  // the other one needs none
    }
  }
  return f(*steps_.of_few_rows);
}

void QueryState::sink(const Table& part, RowId first_row) {
  combine(steps_.engine.partial(steps_.query, part, first_row, steps_.options));
}

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

Result QueryState::finalize() const {
  return run([&](const Query& query) { return steps_.engine.merge(query, partials_, steps_.options); });
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
  CountedRows all{unite(steps_.query, partials_).state, {}};
  for (Counted& one : charges_) all.charges.push_back(std::move(one.charge));
  return all;
}

Partial QueryState::merged() const {
  return run([&](const Query& query) { return steps_.engine.merge_partials(query, partials_, steps_.options); });
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
