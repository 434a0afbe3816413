#include "engine/operators/group/extremes.hpp"

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>

#include "engine/expression/load.hpp"
#include "engine/runtime/parallel.hpp"
#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {
namespace {

/// Returns true if the values of a column lie one after the other, each as its type is stored.
bool is_array(const ColumnData& data) {
  if (data.layout != Layout::plain || data.type.type == Type::boolean || data.type.type == Type::float16) return false;
  const std::int64_t width = width_in_bytes(data.type.type);
  return width > 0 && data.stride == width &&
         reinterpret_cast<std::uintptr_t>(data.values) % static_cast<std::uintptr_t>(width) == 0;
}

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

/// The best value of a slot so far.
template <class T>
struct Best {
  T value = {};
  std::int64_t position = -1;
};

/// Lists position(slot) for each group.
template <class Position>
std::vector<std::int64_t> list_positions(const SlotOrder& groups, const Position& position) {
  const auto count = static_cast<std::size_t>(groups.count());
  QueryMemory::hold(count * sizeof(std::int64_t));
  std::vector<std::int64_t> positions(count);
  for_chunks(groups.count(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) positions[static_cast<std::size_t>(g)] = position(groups.slots[g]);
  });
  return positions;
}

template <class T, class Better>
std::vector<std::int64_t> find_best(const RowSlots& slots, const SlotOrder& groups, const Column& column,
                                    const Better& is_better) {
  const T* const values = static_cast<const T*>(column.data().values);
  const Validity valid = column.data().validity;
  const auto offer = [&](Best<T>& best, T value, std::int64_t position) {
    const bool wins = best.position < 0 || (is_nan(best.value) ? !is_nan(value) : is_better(value, best.value));
    if (wins) best = {value, position};
  };
  const auto best = fold_slots(
      slots, Best<T>{},
      [&](Best<T>& of_slot, std::int64_t i) {
        if (valid(i)) offer(of_slot, values[i], i);
      },
      [&](Best<T>& of_slot, const Best<T>& later) {
        if (later.position >= 0) offer(of_slot, later.value, later.position);
      },
      [&](std::int64_t i) { __builtin_prefetch(values + i); });
  return list_positions(groups, [&](std::int64_t slot) { return best[slot].position; });
}

std::vector<std::int64_t> find_best_texts(const RowSlots& slots, const SlotOrder& groups, const Column& column,
                                          bool highest) {
  const ColumnData& data = column.data();
  const auto order = order_of(data);
  const auto offer = [&](std::int64_t& best, std::int64_t position) {
    if (best < 0) {
      best = position;
      return;
    }
    const std::string_view value = data.string_at(position);
    const std::string_view known = data.string_at(best);
    const bool wins = highest ? comes_before(order.get(), known, value) : comes_before(order.get(), value, known);
    if (wins) best = position;
  };
  const auto best = fold_slots(
      slots, std::int64_t{-1},
      [&](std::int64_t& of_slot, std::int64_t i) {
        if (!column.is_null(i)) offer(of_slot, i);
      },
      [&](std::int64_t& of_slot, std::int64_t later) {
        if (later >= 0) offer(of_slot, later);
      });
  return list_positions(groups, [&](std::int64_t slot) { return best[slot]; });
}

}  // namespace

bool comes_before(const Categories* categories, std::string_view a, std::string_view b) {
  return categories != nullptr ? categories->rank(a) < categories->rank(b) : a < b;
}

Column comparable_values(const query::BoundExpression& expression, const Table& table, const Rows& rows,
                         const std::string& name) {
  const bool is_stored = expression.column >= 0 && rows.ids == nullptr;
  const bool is_text = expression.root->type.type == Type::string;
  if (is_stored && (is_text || is_array(table.column(expression.column).data()))) {
    return table.column(expression.column);
  }
  Column values = evaluate_all(expression, table, rows, name);
  if (!is_text || expression.column < 0) return values;
  return with_traits(values, traits_of(table.column(expression.column).data()));
}

std::vector<std::int64_t> find_extremes(const RowSlots& slots, const SlotOrder& groups, const Column& values,
                                        bool highest) {
  if (values.type().type == Type::string) return find_best_texts(slots, groups, values, highest);
  return with_stored_type(values.type().type, [&]<class T>(T) -> std::vector<std::int64_t> {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, std::string_view>) {
      return {};  // evaluated as float64, and texts as above
    } else {
      return highest ? find_best<T>(slots, groups, values, std::greater<T>())
                     : find_best<T>(slots, groups, values, std::less<T>());
    }
  });
}

}  // namespace skyrank::exec
