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
  const auto count = static_cast<std::size_t>(groups.count());
  QueryMemory::hold(count * sizeof(std::int64_t));
  std::vector<std::int64_t> positions(count);
  for_chunks(groups.count(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) {
      positions[static_cast<std::size_t>(g)] = best[groups.slots[g]].position;
    }
  });
  return positions;
}

}  // namespace

Column comparable_values(const query::BoundExpression& expression, const Table& table, const Rows& rows,
                         const std::string& name) {
  const bool is_stored = expression.column >= 0 && rows.ids == nullptr;
  if (is_stored && is_array(table.column(expression.column).data())) return table.column(expression.column);
  return evaluate_all(expression, table, rows, name);
}

std::vector<std::int64_t> find_extremes(const RowSlots& slots, const SlotOrder& groups, const Column& values,
                                        bool highest) {
  return with_stored_type(values.type().type, [&]<class T>(T) -> std::vector<std::int64_t> {
    if constexpr (std::is_same_v<T, Float16>) {
      return {};  // evaluated as float64
    } else {
      return highest ? find_best<T>(slots, groups, values, std::greater<T>())
                     : find_best<T>(slots, groups, values, std::less<T>());
    }
  });
}

}  // namespace skyrank::exec
