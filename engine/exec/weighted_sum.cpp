#include "engine/exec/weighted_sum.hpp"

#include <utility>

namespace skyrank::exec {

using query::BoundNode;
using query::Op;

namespace {

/// The columns that a sum may have.
enum class Terms : std::uint8_t {
  floats,   ///< without NULLs
  numbers,  ///< integers of 32 and 64 bits too, where they are made floats, and NULLs
};

bool may_be_term(const Column& column, Terms terms) {
  const Type type = column.type().type;
  const bool is_float = type == Type::float32 || type == Type::float64;
  if (terms == Terms::floats) return is_float && !column.may_have_nulls();
  return is_float || type == Type::int32 || type == Type::int64;
}

/// A column that may be a term; nothing of any other expression.
std::optional<WeightedColumn> weighted_column(const BoundNode& node, const Table& table, double weight, Terms terms) {
  if (node.op != Op::column || !may_be_term(table.column(node.column), terms)) return std::nullopt;
  return WeightedColumn{node.column, weight};
}

std::optional<double> number(const BoundNode& node) {
  if (node.op != Op::literal) return std::nullopt;
  if (const auto* value = std::get_if<double>(&node.value)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&node.value)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&node.value)) return static_cast<double>(*value);
  return std::nullopt;
}

// A difference is the sum with a negated weight: neither negating nor multiplying by a negated number rounds anew. The
// product of 1 and a value is the value. An integer is made a float by what it is a part of, if that is one.
bool add(std::vector<WeightedColumn>& terms, const BoundNode& node, const Table& table, bool negative, Terms allowed) {
  const double sign = negative ? -1 : 1;
  if (const auto term = weighted_column(node, table, sign, allowed)) {
    terms.push_back(*term);
    return true;
  }
  if (node.type.type != Type::float64) return false;
  if (node.op == Op::multiply) {
    for (const std::size_t side : {0, 1}) {
      const auto weight = number(*node.children[side]);
      const auto term =
          weight ? weighted_column(*node.children[1 - side], table, sign * *weight, allowed) : std::nullopt;
      if (!term) continue;
      terms.push_back(*term);
      return true;
    }
    return false;
  }
  if ((node.op != Op::add && node.op != Op::subtract) || negative) return false;
  const BoundNode& last = *node.children[1];
  if (last.op == Op::add || last.op == Op::subtract) return false;  // its own sum comes first
  return add(terms, *node.children[0], table, false, allowed) &&
         add(terms, last, table, node.op == Op::subtract, allowed);
}

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

std::vector<WeightedColumn> weighted_columns(const BoundNode& expression, const Table& table) {
  std::vector<WeightedColumn> terms;
  if (!add(terms, expression, table, false, Terms::floats)) terms.clear();
  return terms;
}

std::vector<WeightedColumn> weighted_numbers(const BoundNode& expression, const Table& table) {
  std::vector<WeightedColumn> terms;
  if (expression.type.type != Type::float64 || !add(terms, expression, table, false, Terms::numbers)) terms.clear();
  return terms;
}

std::optional<WeightedSum> WeightedSum::match(const query::BoundExpression& expression, const Table& table) {
  if (expression.column >= 0) return std::nullopt;
  WeightedSum sum;
  for (const WeightedColumn& column : weighted_columns(*expression.root, table)) {
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
