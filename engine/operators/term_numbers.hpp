#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "engine/decimal.hpp"
#include "engine/expression/evaluate.hpp"
#include "engine/expression/program.hpp"
#include "engine/expression/vec.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/parallel.hpp"

// Values of expressions as float64, for operators that weigh the terms of a preference against each other.
namespace skyrank::exec {

/// Returns true if larger values of a `low` or `high` term are better.
inline bool is_high(const query::BoundPreference& term) {
  return (term.kind == Preference::Kind::high) != term.inverted;
}

/// Calls store(i, value) with the number that each of the rows has, in parallel; nothing for NULL. The expression is of
/// numbers, dates or timestamps.
template <class Store>
void for_each_number(const query::BoundExpression& expression, const Table& table, const Rows& rows,
                     const Store& store) {
  const auto program = compile(expression, table);
  const auto store_block = [&]<class T>(const Block& block, std::int64_t begin, T) {
    if constexpr (!std::is_same_v<T, std::string_view>) {
      const T* const values = block.as<T>();
      for (std::int64_t i = 0; i < block.size; ++i) {
        std::optional<double> number;
        if (block.valid == nullptr || block.valid[i] != 0) {
          number = is_decimal(block.type.type) ? to_double(Decimal{static_cast<Int128>(values[i]), block.type.scale})
                                               : static_cast<double>(values[i]);
        }
        store(begin + i, number);
      }
    }
  };
  for_chunks(rows.n, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    Evaluator evaluator(program);
    for (std::int64_t at = begin; at < end; at += kBlockRows) {
      const Block block = evaluator.evaluate(rows, at, std::min(kBlockRows, end - at));
      with_evaluation_type(block.type.type, [&]<class T>(T value) { store_block(block, at, value); });
    }
  });
}

}  // namespace skyrank::exec
