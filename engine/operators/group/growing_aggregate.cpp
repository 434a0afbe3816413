#include "engine/operators/group/growing_aggregate.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/expression/load.hpp"
#include "engine/operators/group/extremes.hpp"
#include "engine/operators/group/group.hpp"
#include "engine/operators/group/totals.hpp"
#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {
namespace {

using query::BoundAggregate;
using Function = Aggregate::Function;

bool has_total(const BoundAggregate& aggregate) {
  return aggregate.function == Function::sum || aggregate.function == Function::avg;
}

template <class T>
const T* values_in(const Column& column) {
  return static_cast<const T*>(column.data().values);
}

Rows all_rows(const Table& unit) { return {unit.num_rows(), nullptr}; }

/// Returns a column of finish(state, first row) for the groups that have values, NULL for the others.
template <class State, class Finish>
Column finished(const BoundAggregate& aggregate, const Vector<State>& states, const SlotOrder& order,
                const Finish& finish) {
  using T = decltype(finish(State{}, RowId{0}));
  const auto groups = static_cast<std::size_t>(order.count());
  QueryMemory::hold(groups * sizeof(T));
  std::vector<T> values(groups);
  std::vector<bool> valid;
  for (std::size_t g = 0; g < groups; ++g) {
    const State& state = states[static_cast<std::size_t>(order.slots[g])];
    if (state.count > 0) {
      values[g] = finish(state, order.first[g]);
    } else {
      if (valid.empty()) valid.assign(groups, true);
      valid[g] = false;
    }
  }
  return Column::own_as(aggregate.name, aggregate.type, std::move(values), valid);
}

/// States that are values of type State.
template <class State>
class StatesOf : public GrowingAggregate {
 public:
  explicit StatesOf(const BoundAggregate& aggregate) : aggregate_(aggregate) {}

  void resize(std::size_t groups) final { states_.resize(groups); }

  void combine(const GrowingAggregate& other, std::span<const std::uint32_t> to) final {
    const auto& more = static_cast<const StatesOf&>(other).states_;
    for (std::size_t group = 0; group < more.size(); ++group) states_[to[group]] += more[group];
  }

 protected:
  const BoundAggregate& aggregate_;
  Vector<State> states_;
};

struct Count {
  std::int64_t count = 0;
  Count& operator+=(const Count& more) {
    count += more.count;
    return *this;
  }
};

class Counts final : public StatesOf<Count> {
 public:
  using StatesOf::StatesOf;

  void sink(const Table& unit, std::span<const std::uint32_t> groups, RowId) override {
    const Column values = argument_of(aggregate_, unit, all_rows(unit));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      states_[groups[i]].count += values.is_null(static_cast<std::int64_t>(i)) ? 0 : 1;
    }
  }

  Column finish(const BoundAggregate& aggregate, const SlotOrder& order) const override {
    std::vector<std::int64_t> counts;
    for (const std::int64_t group : order.slots) counts.push_back(states_[static_cast<std::size_t>(group)].count);
    return Column::own(aggregate.name, std::move(counts));
  }
};

template <class T, class Sum>
class Totals final : public StatesOf<Total<Sum>> {
  using Base = StatesOf<Total<Sum>>;

 public:
  using Base::Base;

  void sink(const Table& unit, std::span<const std::uint32_t> groups, RowId) override {
    const Column argument = argument_of(this->aggregate_, unit, all_rows(unit));
    const T* const values = values_in<T>(argument);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (argument.is_null(static_cast<std::int64_t>(i))) continue;
      Total<Sum>& total = this->states_[groups[i]];
      add_value(total.sum, values[i]);
      ++total.count;
    }
  }

  Column finish(const BoundAggregate& aggregate, const SlotOrder& order) const override {
    return with_finish<T, Sum>(aggregate,
                               [&](const auto& finish) { return finished(aggregate, this->states_, order, finish); });
  }
};

/// The best value of a group and the first row that has it. NaN is taken only where there is nothing else.
template <class T, bool kHighest>
struct Extreme {
  T value = {};
  RowId row = 0;
  std::int64_t count = 0;  // 0: no value yet

  Extreme& operator+=(const Extreme& more) {
    if (more.count > 0 && (count == 0 || is_better(more))) *this = more;
    return *this;
  }

 private:
  bool is_better(const Extreme& more) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value) != std::isnan(more.value)) return std::isnan(value);
      if (std::isnan(value)) return more.row < row;
    }
    if (more.value == value) return more.row < row;
    return kHighest ? more.value > value : more.value < value;
  }
};

template <class T, bool kHighest>
class Extremes final : public StatesOf<Extreme<T, kHighest>> {
  using State = Extreme<T, kHighest>;

 public:
  using StatesOf<State>::StatesOf;

  void sink(const Table& unit, std::span<const std::uint32_t> groups, RowId first_row) override {
    const BoundAggregate& aggregate = this->aggregate_;
    const Column column = comparable_values(*aggregate.argument, unit, all_rows(unit), aggregate.name);
    with_stored_type(column.type().type, [&]<class Stored>(Stored) {
      if constexpr (std::is_arithmetic_v<Stored>) {  // of more bits than T at most
        const Stored* const values = values_in<Stored>(column);
        for (std::size_t i = 0; i < groups.size(); ++i) {
          const auto row = static_cast<std::int64_t>(i);
          if (!column.is_null(row)) this->states_[groups[i]] += State{static_cast<T>(values[i]), first_row + row, 1};
        }
      }
    });
  }

  Column finish(const BoundAggregate& aggregate, const SlotOrder& order) const override {
    return finished(aggregate, this->states_, order, [](const State& state, RowId) { return state.value; });
  }
};

}  // namespace

bool share_states(const BoundAggregate& a, const BoundAggregate& b) {
  return has_total(a) && has_total(b) && a.argument->text == b.argument->text;
}

bool GrowingAggregate::is_possible(const BoundAggregate& aggregate) {
  if (aggregate.function != Function::min && aggregate.function != Function::max) return true;
  const Type type = aggregate.type.type;
  if (type == Type::string || type == Type::boolean) return false;
  return with_stored_type(type, []<class T>(T) { return std::is_arithmetic_v<T>; });
}

std::unique_ptr<GrowingAggregate> GrowingAggregate::of(const BoundAggregate& aggregate) {
  using States = std::unique_ptr<GrowingAggregate>;
  if (aggregate.function == Function::count) return std::make_unique<Counts>(aggregate);
  if (has_total(aggregate)) {
    return with_summed_type(aggregate.argument->root->type, [&]<class T, class Sum>(T, Sum) -> States {
      return std::make_unique<Totals<T, Sum>>(aggregate);
    });
  }
  return with_stored_type(aggregate.type.type, [&]<class T>(T) -> States {
    if constexpr (std::is_arithmetic_v<T>) {
      if (aggregate.function == Function::max) return std::make_unique<Extremes<T, true>>(aggregate);
      return std::make_unique<Extremes<T, false>>(aggregate);
    }
    return nullptr;
  });
}

}  // namespace skyrank::exec
