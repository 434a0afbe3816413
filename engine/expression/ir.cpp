#include "engine/expression/ir.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "engine/expression/interpreter.hpp"
#include "engine/expression/numeric.hpp"

namespace skyrank::exec {

using query::BoundNode;
using query::Op;

namespace {

template <class T>
Value value_of(T stored, DataType type) {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    return stored != 0;
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return std::string(stored);
  } else if constexpr (std::is_same_v<T, Int128>) {
    return Decimal{stored, type.scale};
  } else {
    if (type.type == Type::decimal64) return Decimal{static_cast<Int128>(stored), type.scale};
    if (type.type == Type::date) return Date{static_cast<std::int32_t>(stored)};
    if (type.type == Type::timestamp) return Timestamp{static_cast<std::int64_t>(stored), type.unit};
    return stored;
  }
}

[[gnu::noinline]] Operation make_literal(Value value, DataType type) {
  auto constant = std::make_shared<Constant>();
  constant->value = std::move(value);
  with_evaluation_type(type.type, [&]<class T>(T) { constant->stored = stored_value<T>(constant->value); });
  Operation operation;
  operation.type = type;
  operation.constant = std::move(constant);
  return operation;
}

class Lowering {
 public:
  /// Appends the operations of `node` and returns the place of its result.
  std::uint32_t lower(const BoundNode& node) {
    const std::size_t begin = operations_.size();
    if (node.op == Op::literal) return append(make_literal(node.value, node.type));
    Operation operation;
    operation.op = node.op;
    operation.type = node.type;
    operation.negated = node.negated;
    operation.column = node.column;
    if (node.op == Op::column) return append(std::move(operation));
    operation.operands.reserve(node.children.size());
    for (const query::BoundPtr& child : node.children) add_operand(operation, lower(*child));
    return finish(std::move(operation), begin);
  }

  std::vector<Operation> result() && { return std::move(operations_); }

 private:
  /// Adds the last operation as an operand; `a and b` in `a and b and c` as its own operands, and `or` likewise.
  void add_operand(Operation& operation, std::uint32_t place) {
    const bool is_logic = operation.op == Op::logical_and || operation.op == Op::logical_or;
    if (!is_logic || operations_[place].op != operation.op) return operation.operands.push_back(place);
    std::vector<std::uint32_t> operands = std::move(operations_.back().operands);
    operations_.pop_back();
    // Chains lean to the left, where moving the operands keeps this linear in their number.
    if (operation.operands.empty()) return operation.operands.swap(operands);
    for (const std::uint32_t operand : operands) operation.operands.push_back(operand);
  }

  std::uint32_t append(Operation operation) {
    operations_.push_back(std::move(operation));
    return static_cast<std::uint32_t>(operations_.size() - 1);
  }

  // Not inlined, so that its memory does not add up along the recursion.
  [[gnu::noinline]] std::uint32_t finish(Operation operation, std::size_t begin) {
    const auto& operands = operation.operands;
    const auto literal = [&](std::uint32_t place) { return is_literal(operations_[place]); };
    if (is_comparison(operation.op)) {
      match_type(operands[0], operands[1]);
      match_type(operands[1], operands[0]);
    } else if (operation.op == Op::between) {
      match_type(operands[1], operands[0]);
      match_type(operands[2], operands[0]);
    } else if (operation.op == Op::in && std::all_of(operands.begin() + 1, operands.end(), literal)) {
      collect_members(operation);
    }
    const bool constant = std::all_of(operands.begin(), operands.end(), literal);
    const std::uint32_t place = append(std::move(operation));
    if (!constant) return place;
    std::optional<Operation> folded = fold();
    if (!folded) return place;
    operations_.resize(begin);
    return append(std::move(*folded));
  }

  /// Brings the literal at `of` to the type of the non-literal `beside` where it has exactly that value there, so that
  /// they compare in the fast loops.
  void match_type(std::uint32_t of, std::uint32_t beside) {
    const DataType type = operations_[beside].type;
    if (!is_literal(operations_[of]) || is_literal(operations_[beside]) || operations_[of].type == type) return;
    if (auto value = convert_exactly(operations_[of].constant->value, type)) {
      operations_[of] = make_literal(*value, type);
    }
  }

  /// Replaces the members of `in` by the set of those that a value of the operand's type can equal.
  void collect_members(Operation& operation) {
    const DataType type = operations_[operation.operands.front()].type;
    auto members = std::make_shared<Members>();
    for (std::size_t i = 1; i < operation.operands.size(); ++i) {
      const Value& value = operations_[operation.operands[i]].constant->value;
      if (std::holds_alternative<Null>(value)) {
        members->has_null = true;
      } else if (auto converted = convert_exactly(value, type)) {
        members->constants.push_back(make_literal(*converted, type).constant);
      }
    }
    with_evaluation_type(type.type, [&]<class T>(T) {
      std::vector<T> values;
      for (const auto& constant : members->constants) values.push_back(std::get<T>(constant->stored));
      if constexpr (std::is_same_v<T, double>) std::erase_if(values, [](double value) { return std::isnan(value); });
      std::sort(values.begin(), values.end());
      values.erase(std::unique(values.begin(), values.end()), values.end());
      members->values = std::move(values);
    });
    operations_.resize(operation.operands.front() + 1);
    operation.operands.resize(1);
    operation.members = std::move(members);
  }

  /// The value of the last operation, whose operands are literals; nothing when it fails, which it then does for the
  /// rows that need it.
  std::optional<Operation> fold() const {
    const DataType type = operations_.back().type;
    Interpreter interpreter;
    const Vec vec = interpreter.spread(interpreter.run(operations_, Rows{1, nullptr}, 0, 1), 1);
    if (interpreter.failure()) return std::nullopt;
    if (vec.valid != nullptr && vec.valid[0] == 0) return make_literal(Null{}, type);
    return with_evaluation_type(type.type,
                                [&]<class T>(T) { return make_literal(value_of(*vec.as<T>(), type), type); });
  }

  std::vector<Operation> operations_;
};

}  // namespace

Ir Ir::part(const Operation& operation) const {
  const auto last = static_cast<std::size_t>(&operation - operations_.data());
  std::size_t first = last;
  while (!operations_[first].operands.empty()) first = operations_[first].operands.front();
  std::vector<Operation> operations(operations_.begin() + static_cast<std::ptrdiff_t>(first),
                                    operations_.begin() + static_cast<std::ptrdiff_t>(last + 1));
  for (Operation& moved : operations) {
    for (std::uint32_t& place : moved.operands) place -= static_cast<std::uint32_t>(first);
  }
  return Ir(std::move(operations));
}

Ir lower(const BoundNode& expression) {
  Lowering lowering;
  lowering.lower(expression);
  return Ir(std::move(lowering).result());
}

}  // namespace skyrank::exec
