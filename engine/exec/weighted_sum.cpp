#include "engine/exec/weighted_sum.hpp"

#include <algorithm>

namespace skyrank::exec {

using query::BoundNode;
using query::Op;

namespace {

/// A term of a column; nothing if it cannot be one.
std::optional<SumTerm> column_term(const BoundNode& node, const Table& table, double weight) {
  if (node.op != Op::column) return std::nullopt;
  const Column& column = table.column(node.column);
  const ColumnData& data = column.data();
  const auto width = static_cast<std::size_t>(width_in_bytes(data.type.type));
  const bool contiguous = data.stride == static_cast<std::int64_t>(width) &&
                          reinterpret_cast<std::uintptr_t>(data.values) % std::max<std::size_t>(width, 1) == 0;
  if (column.may_have_nulls() || !contiguous) return std::nullopt;
  if (data.type.type == Type::float32) return SumTerm{static_cast<const float*>(data.values), nullptr, weight};
  if (data.type.type == Type::float64) return SumTerm{nullptr, static_cast<const double*>(data.values), weight};
  return std::nullopt;
}

std::optional<double> number(const BoundNode& node) {
  if (node.op != Op::literal) return std::nullopt;
  if (const auto* value = std::get_if<double>(&node.value)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&node.value)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&node.value)) return static_cast<double>(*value);
  return std::nullopt;
}

}  // namespace

std::optional<WeightedSum> WeightedSum::match(const query::BoundExpression& expression, const Table& table) {
  WeightedSum sum;
  if (expression.column >= 0 || !sum.add(*expression.root, table, false)) return std::nullopt;
  return sum;
}

// A difference is the sum with a negated weight: neither negating nor multiplying by a negated number rounds anew. The
// product of 1 and a value is the value.
bool WeightedSum::add(const BoundNode& node, const Table& table, bool negative) {
  const double sign = negative ? -1 : 1;
  if (const auto term = column_term(node, table, sign)) {
    terms_.push_back(*term);
    return true;
  }
  if (node.op == Op::multiply) {
    for (const std::size_t side : {0, 1}) {
      const auto weight = number(*node.children[side]);
      const auto term = weight ? column_term(*node.children[1 - side], table, sign * *weight) : std::nullopt;
      if (!term) continue;
      terms_.push_back(*term);
      return true;
    }
    return false;
  }
  if ((node.op != Op::add && node.op != Op::subtract) || negative) return false;
  const BoundNode& last = *node.children[1];
  if (last.op == Op::add || last.op == Op::subtract) return false;  // its own sum comes first
  return add(*node.children[0], table, false) && add(last, table, node.op == Op::subtract);
}

void WeightedSum::encode(std::int64_t begin, std::int64_t size, bool high, std::uint64_t* keys) const {
  encode_sums(terms_, static_cast<std::size_t>(begin), static_cast<std::size_t>(size), high, keys);
}

}  // namespace skyrank::exec
