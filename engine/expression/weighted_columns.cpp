#include "engine/expression/weighted_columns.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

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

}  // namespace skyrank::exec
