#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "engine/expression/evaluate.hpp"
#include "engine/expression/load.hpp"
#include "engine/runtime/device_values.hpp"
#include "engine/runtime/parallel.hpp"

namespace skyrank::exec {

/// The values of an expression on the host: its column if it is one, otherwise a column computed for it.
struct Source {
  Column column;
  Rows rows;  ///< rows of `column`

  Source(const query::BoundExpression& expression, const Table& table, const Rows& wanted)
      : column(expression.column >= 0 ? table.column(expression.column)
                                      : evaluate_all(expression, table, wanted, "computed")),
        rows(expression.column >= 0 ? wanted : Rows{wanted.n, nullptr}) {
    copy_to_host(column.data());
  }

  /// A stored column.
  Source(Column stored, const Rows& wanted) : column(std::move(stored)), rows(wanted) { copy_to_host(column.data()); }

  Type type() const { return column.type().type; }
  const ColumnData& data() const { return column.data(); }
};

/// Holds what for_blocks calls, without its type: the loop over blocks is compiled once for a type of values.
template <class T>
struct BlockBody {
  void (*call)(const void* body, std::int64_t begin, std::int64_t size, const T* values,
               const std::uint8_t* valid) = nullptr;
  const void* body = nullptr;
};

template <class T>
void run_blocks(const Source& source, BlockBody<T> body) {
  const ColumnData& data = source.data();
  for_chunks(source.rows.n, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    T scratch[kBlockRows];
    std::uint8_t validity[kBlockRows];
    for (std::int64_t at = begin; at < end; at += kBlockRows) {
      const std::int64_t size = std::min(kBlockRows, end - at);
      const std::uint8_t* valid = load_validity(data, source.rows, at, size, validity);
      if constexpr (std::is_same_v<T, std::uint8_t>) {
        if (data.type.type == Type::boolean) {
          body.call(body.body, at, size, load_booleans(data, source.rows, at, size, scratch), valid);
          continue;
        }
      }
      body.call(body.body, at, size, static_cast<const T*>(load_values(data, source.rows, at, size, scratch)), valid);
    }
  });
}

/// Calls `f(begin, size, values, valid)` for blocks of all rows, in parallel: `values` as stored (uint8, 0 or 1, for
/// booleans), `valid` as load_validity gives it. Blocks of one chunk come in order, in one thread.
template <class T, class F>
void for_blocks(const Source& source, const F& f) {
  run_blocks<T>(source, {[](const void* body, std::int64_t begin, std::int64_t size, const T* values,
                            const std::uint8_t* valid) { (*static_cast<const F*>(body))(begin, size, values, valid); },
                         &f});
}

}  // namespace skyrank::exec
