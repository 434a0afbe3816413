#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <skyrank/error.hpp>
#include <skyrank/table.hpp>

#include "engine/expression/ir.hpp"

// Compiles an expression for one table. The interpreter and the lowering for GPUs both start from a Program. Predicates
// over a dictionary column cost one evaluation for each entry, not for each row.
namespace skyrank::exec {

/// An expression made ready for a table: its operations know the columns they read, and predicates on dictionary
/// columns are answered once for each entry. Immutable, shared by threads.
struct Program {
  std::map<int, Column> columns;  ///< by their places in the table, those that are read
  std::int64_t rows = 0;          ///< rows of the table
  Ir ir;
  std::string text;  ///< the whole expression, for messages
  Location location;
};

std::shared_ptr<const Program> compile(const query::BoundExpression& expression, const Table& table);

/// The same for an expression that is lowered already, or for the part of `whole` that ends with `operation`.
std::shared_ptr<const Program> compile(Ir ir, const query::BoundExpression& expression, const Table& table);
std::shared_ptr<const Program> compile_part(const Program& whole, const Operation& operation);

}  // namespace skyrank::exec
