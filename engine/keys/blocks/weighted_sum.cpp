#include "engine/keys/blocks/weighted_sum.hpp"

#include <utility>

#include "engine/expression/patterns.hpp"

namespace skyrank::exec {

namespace {

/// Returns the term of a column whose values lie next to each other; nothing for other columns.
std::optional<SumTerm> host_term(const WeightedColumn& term, const Table& table) {
  const ColumnData& data = table.column(term.column).data();
  const auto width = static_cast<std::size_t>(width_in_bytes(data.type.type));
  const bool contiguous =
      data.stride == static_cast<std::int64_t>(width) && reinterpret_cast<std::uintptr_t>(data.values) % width == 0;
  if (!contiguous) return std::nullopt;
  if (data.type.type == Type::float32) return SumTerm{static_cast<const float*>(data.values), nullptr, term.weight};
  return SumTerm{nullptr, static_cast<const double*>(data.values), term.weight};
}

}  // namespace

std::optional<WeightedSum> WeightedSum::match(const Ir& expression, const Table& table) {
  if (expression.root().op == query::Op::column) return std::nullopt;
  WeightedSum sum;
  for (const WeightedColumn& column : weighted_columns(expression, table)) {
    const auto term = host_term(column, table);
    if (!term) return std::nullopt;
    sum.terms_.push_back(*term);
  }
  return sum.terms_.empty() ? std::nullopt : std::optional(std::move(sum));
}

void WeightedSum::encode(std::int64_t begin, std::int64_t size, bool high, std::uint64_t* keys) const {
  encode_sums(terms_, static_cast<std::size_t>(begin), static_cast<std::size_t>(size), high, keys);
}

}  // namespace skyrank::exec
