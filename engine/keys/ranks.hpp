#pragma once

#include <cstdint>
#include <numeric>

#include "engine/keys/key_memory.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/stop.hpp"
#include "kernels/cpu/parallel_sort.hpp"

// Ranks as keys, for values that have no code of 64 bits in their order.
namespace skyrank::exec {

/// Returns dense ranks of rows by a strict weak order on them: sorts, then numbers the runs of equal rows.
template <class Less>
Keys ranks_of_rows(std::int64_t n, Less less) {
  Vector<RowId> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), RowId{0});
  const std::stop_token& stop = current_stop();
  kernels::parallel_sort(rows.begin(), rows.end(), less, kernels::Context{.stop = stop});
  std::uint64_t distinct = n == 0 ? 0 : 1;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    check_at(static_cast<std::int64_t>(i), stop);
    distinct += less(rows[i - 1], rows[i]) ? 1 : 0;
  }
  return with_width(width_for(distinct == 0 ? 0 : distinct - 1), [&]<class Key>(Key) {
    KeyMemory<Key> keys(n);
    Key rank = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      check_at(static_cast<std::int64_t>(i), stop);
      if (i > 0 && less(rows[i - 1], rows[i])) ++rank;
      keys[rows[i]] = rank;
    }
    return std::move(keys).keys();
  });
}

/// The same by an order of the rows that are `present`; others, which are NULL, come before or behind all of them.
template <class Less>
Keys ranks_of_present(const Vector<std::uint8_t>& present, bool nulls_first, Less less) {
  const std::uint8_t* const there = present.data();
  return ranks_of_rows(static_cast<std::int64_t>(present.size()), [=](RowId a, RowId b) {
    if (there[a] != there[b]) return (there[a] != 0) != nulls_first;
    return there[a] != 0 && less(a, b);
  });
}

}  // namespace skyrank::exec
