#include "engine/exec/weighted_sum.hpp"

#include "engine/exec/block_keys.hpp"
#include "engine/exec/load.hpp"

namespace skyrank::exec {

using query::BoundNode;
using query::Op;

namespace {

/// The column of a term; null if there cannot be one.
const ColumnData* float_column(const BoundNode& node, const Table& table) {
  if (node.op != Op::column) return nullptr;
  const Column& column = table.column(node.column);
  const Type type = column.type().type;
  return !column.may_have_nulls() && (type == Type::float32 || type == Type::float64) ? &column.data() : nullptr;
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
  if (const ColumnData* column = float_column(node, table)) {
    terms_.push_back({column, sign});
    return true;
  }
  if (node.op == Op::multiply) {
    for (const std::size_t side : {0, 1}) {
      const auto weight = number(*node.children[side]);
      const ColumnData* column = float_column(*node.children[1 - side], table);
      if (!weight || column == nullptr) continue;
      terms_.push_back({column, sign * *weight});
      return true;
    }
    return false;
  }
  if ((node.op != Op::add && node.op != Op::subtract) || negative) return false;
  const BoundNode& last = *node.children[1];
  if (last.op == Op::add || last.op == Op::subtract) return false;  // its own sum comes first
  return add(*node.children[0], table, false) && add(last, table, node.op == Op::subtract);
}

void WeightedSum::evaluate(std::int64_t begin, std::int64_t size, double* sum) const {
  const Rows rows{begin + size, nullptr};
  for (const Term& term : terms_) {
    const auto use = [&]<class T>(T) {
      T scratch[kBlockRows];
      const T* values = load_values(*term.column, rows, begin, size, scratch);
      const auto count = static_cast<std::size_t>(size);
      if (&term == &terms_.front()) {
        scale(values, count, term.weight, sum);
      } else {
        add_scaled(values, count, term.weight, sum);
      }
    };
    if (term.column->type.type == Type::float32) {
      use(float{});
    } else {
      use(double{});
    }
  }
}

}  // namespace skyrank::exec
