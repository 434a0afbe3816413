#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/expression/vec.hpp"
#include "engine/query/bound.hpp"

// A bound expression made ready for a table: constant parts evaluated, constants brought to the types they are compared
// with, lists of `in` sorted, predicates on dictionary columns answered once for each entry.
namespace skyrank::exec {

/// A literal in the form that loops read.
struct Constant {
  Value value;  ///< a value of the operation's type, or Null
  std::variant<std::uint8_t, std::int64_t, std::uint64_t, Int128, double, std::string_view> stored;
};

/// Distinct values, ascending, of one evaluation type.
using MemberSet = std::variant<std::vector<std::uint8_t>, std::vector<std::int64_t>, std::vector<std::uint64_t>,
                               std::vector<Int128>, std::vector<double>, std::vector<std::string_view>>;

/// Answers of a predicate by dictionary entry; the last one, after those of the entries, is the answer for NULL.
struct EntryAnswers {
  Vector<std::uint8_t> value;
  Vector<std::uint8_t> valid;

  std::size_t null_entry() const { return value.size() - 1; }
};

/// One node; immutable, shared by threads.
struct Operation {
  query::Op op = query::Op::literal;
  DataType type;
  const query::BoundNode* node =
      nullptr;  ///< the node of the program's expression that it was made of; null for a literal
  bool negated = false;
  std::vector<std::unique_ptr<const Operation>> children;
  const ColumnData* column = nullptr;           ///< Op::column, and predicates with `answers`
  std::unique_ptr<const Constant> constant;     ///< Op::literal
  std::unique_ptr<const MemberSet> members;     ///< Op::in over literals only
  bool null_member = false;                     ///< NULL was among them
  std::unique_ptr<const EntryAnswers> answers;  ///< predicates on a dictionary column; no children
};

/// Immutable, shared by threads.
struct Program {
  Table table;  ///< keeps the columns alive
  query::BoundExpression expression;
  std::unique_ptr<const Operation> root;
};

std::shared_ptr<const Program> compile(const query::BoundExpression& expression, const Table& table);

}  // namespace skyrank::exec
