#include "engine/expression/patterns.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/query/values.hpp"

namespace skyrank::exec {

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

/// Collects the terms of a weighted sum.
class SumMatcher {
 public:
  SumMatcher(const Ir& ir, const Table& table, Terms allowed) : ir_(ir), table_(table), allowed_(allowed) {}

  std::vector<WeightedColumn> run() {
    return add(ir_.root(), false) ? std::move(terms_) : std::vector<WeightedColumn>();
  }

 private:
  // A difference is the sum with a negated weight: neither negating nor multiplying by a negated number rounds anew.
  // The product of 1 and a value is the value. An integer is made a float by what it is a part of, if that is one.
  bool add(const Operation& operation, bool negative) {
    const double sign = negative ? -1 : 1;
    if (add_column(operation, sign)) return true;
    if (operation.type.type != Type::float64) return false;
    if (operation.op == Op::multiply) return add_product(operation, sign);
    if ((operation.op != Op::add && operation.op != Op::subtract) || negative) return false;
    const Operation& last = ir_.operand(operation, 1);
    if (last.op == Op::add || last.op == Op::subtract) return false;  // its own sum comes first
    return add(ir_.operand(operation, 0), false) && add(last, operation.op == Op::subtract);
  }

  bool add_column(const Operation& operation, double weight) {
    if (operation.op != Op::column || !may_be_term(table_.column(operation.column), allowed_)) return false;
    terms_.push_back({operation.column, weight});
    return true;
  }

  bool add_product(const Operation& product, double sign) {
    for (const std::size_t side : {0, 1}) {
      const Operation& factor = ir_.operand(product, side);
      const auto weight = is_decimal(factor.type.type) ? std::nullopt : literal_number(factor);
      if (weight && add_column(ir_.operand(product, 1 - side), sign * *weight)) return true;
    }
    return false;
  }

  const Ir& ir_;
  const Table& table_;
  Terms allowed_;
  std::vector<WeightedColumn> terms_;
};

}  // namespace

std::vector<WeightedColumn> weighted_columns(const Ir& ir, const Table& table) {
  return SumMatcher(ir, table, Terms::floats).run();
}

std::vector<WeightedColumn> weighted_numbers(const Ir& ir, const Table& table) {
  if (ir.root().type.type != Type::float64) return {};
  return SumMatcher(ir, table, Terms::numbers).run();
}

std::optional<ColumnTest> column_test(const Ir& ir, const Operation& condition) {
  ColumnTest test{.op = condition.op, .negated = condition.negated};
  if (is_comparison(condition.op)) {
    const bool turned = is_literal(ir.operand(condition, 0));
    test.column = &ir.operand(condition, turned ? 1 : 0);
    test.op = turned ? query::exchanged(condition.op) : condition.op;
    test.lower = test.upper = &ir.operand(condition, turned ? 0 : 1);
  } else if (condition.op == Op::between) {
    test.column = &ir.operand(condition, 0);
    test.lower = &ir.operand(condition, 1);
    test.upper = &ir.operand(condition, 2);
  } else if (condition.op == Op::in && condition.members != nullptr) {
    test.column = &ir.operand(condition, 0);
    test.members = condition.members.get();
  } else if (condition.op == Op::is_null) {
    test.column = &ir.operand(condition, 0);
  } else {
    return std::nullopt;
  }
  const auto is_constant = [](const Operation* end) { return end == nullptr || is_literal(*end); };
  if (test.column->op != Op::column || !is_constant(test.lower) || !is_constant(test.upper)) return std::nullopt;
  return test;
}

std::optional<double> literal_number(const Operation& literal) {
  return is_literal(literal) ? query::double_of(literal.constant->value) : std::nullopt;
}

bool never_fails(std::span<const Operation> operations) {
  return std::ranges::all_of(operations, [](const Operation& operation) {
    const Type type = operation.type.type;
    if (operation.op == Op::cast) return type == Type::string;
    const bool reads = operation.op == Op::column || is_literal(operation) || operation.op == Op::concat;
    const bool takes_apart = operation.op >= Op::year && operation.op <= Op::upper;  // a time or a text
    return reads || takes_apart || type == Type::float64 || type == Type::boolean;
  });
}

bool never_fails(const Ir& ir) { return never_fails(ir.operations()); }

bool never_fails(const query::BoundExpression& expression) { return never_fails(lower(*expression.root)); }

bool never_null(const Ir& ir, const Table& table) {
  return std::ranges::all_of(ir.operations(), [&](const Operation& operation) {
    if (operation.op == Op::column) return !table.column(operation.column).may_have_nulls();
    return operation.op != Op::case_when && !is_null_literal(operation);
  });
}

}  // namespace skyrank::exec
