#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/decimal.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/query_memory.hpp"

// The intermediate form of expressions:
//
//   text -> query::Node -> query::BoundNode -> Ir -> Program -> the interpreter's blocks
//                                               |       '-----> the GPU's instructions (engine/device/translate.hpp)
//                                               '-> patterns (patterns.hpp)
//
// `lower` makes it of a bound expression, without a table: constant parts are evaluated, constants have the types that
// they are compared with, and lists of `in` are sorted. `compile` (program.hpp) links it to the columns of a table.
namespace skyrank::exec {

/// A literal in the form that loops read.
struct Constant {
  Value value;  ///< a value of the operation's type, or Null
  std::variant<std::uint8_t, std::int64_t, std::uint64_t, Int128, double, std::string_view> stored;
};

/// Distinct values, ascending, of one evaluation type.
using MemberSet = std::variant<std::vector<std::uint8_t>, std::vector<std::int64_t>, std::vector<std::uint64_t>,
                               std::vector<Int128>, std::vector<double>, std::vector<std::string_view>>;

/// The members of `in` where all are literals.
struct Members {
  MemberSet values;
  bool has_null = false;
  std::vector<std::shared_ptr<const Constant>> constants;  ///< the same in the order of the text; may repeat
};

/// Answers of a predicate by dictionary entry; the last one, after those of the entries, is the answer for NULL.
struct EntryAnswers {
  Vector<std::uint8_t> value;
  Vector<std::uint8_t> valid;

  std::size_t null_entry() const { return value.size() - 1; }
};

/// One step of an expression.
struct Operation {
  query::Op op = query::Op::literal;
  DataType type;
  bool negated = false;
  int column = -1;                           ///< Op::column: index into the table
  std::vector<std::uint32_t> operands;       ///< places in the list, all of them before that of this operation
  std::shared_ptr<const Constant> constant;  ///< Op::literal
  std::shared_ptr<const Members> members;    ///< Op::in over literals, which are no operands then

  // Links to a table.
  const ColumnData* data = nullptr;             ///< Op::column, and predicates with `answers`
  std::shared_ptr<const EntryAnswers> answers;  ///< predicates on a dictionary column; operands are not needed then
};

/// An expression as a list of operations. Each stands after its operands, the operations of one operand stand next to
/// each other, and the last operation is the result.
class Ir {
 public:
  explicit Ir(std::vector<Operation> operations) : operations_(std::move(operations)) {}

  std::span<const Operation> operations() const { return operations_; }
  std::span<Operation> operations() { return operations_; }
  const Operation& root() const { return operations_.back(); }
  const Operation& operand(const Operation& operation, std::size_t i) const {
    return operations_[operation.operands[i]];
  }

  /// Returns the part of the expression whose result is `operation`.
  Ir part(const Operation& operation) const;

 private:
  std::vector<Operation> operations_;
};

Ir lower(const query::BoundNode& expression);

inline bool is_literal(const Operation& operation) { return operation.op == query::Op::literal; }

inline bool is_null_literal(const Operation& operation) {
  return is_literal(operation) && std::holds_alternative<Null>(operation.constant->value);
}

using query::is_comparison;

}  // namespace skyrank::exec
