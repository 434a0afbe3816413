#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/query/bound.hpp"
#include "engine/runtime/query_memory.hpp"

// Vectorised evaluation of bound expressions, a block of rows at a time.
namespace skyrank::exec {

inline constexpr std::int64_t kBlockRows = 2048;

/// The rows an operator works on: all of [0, n), or the listed ones, ascending.
struct Rows {
  std::int64_t n = 0;
  const RowId* ids = nullptr;  ///< null: the identity

  RowId operator[](std::int64_t i) const { return ids == nullptr ? i : ids[i]; }
};

/// The values of an expression for a block of at most kBlockRows rows, in the C++ type of its evaluation type
/// (vec.hpp). Values of NULL rows are unspecified. Pointers live until the evaluator's next block.
struct Block {
  std::int64_t size = 0;
  DataType type;
  const void* values = nullptr;
  const std::uint8_t* valid = nullptr;  ///< one byte a row, 0 = NULL; null: no NULLs in this block

  template <class T>
  const T* as() const {
    return static_cast<const T*>(values);
  }
  /// Stores 1 for the rows of which a condition is true, else 0; NULL is not true.
  void store_truth(std::uint8_t* out) const;
};

struct Program;

/// Evaluates one bound expression over a table. Holds scratch memory for one block: one evaluator a thread.
class Evaluator {
 public:
  Evaluator(const query::BoundExpression& expression, const Table& table);
  /// For one of several threads that share what compile() made.
  explicit Evaluator(std::shared_ptr<const Program> program);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;

  /// Rows rows[begin], ..., rows[begin + size - 1]; 0 <= size <= kBlockRows. DataError that names the row (and the
  /// expression) for integer overflow and integer division by zero; the lowest such row of the block is named. Rows on
  /// which a value is not needed (the untaken branch of `case`, the right side of a decided `and`/`or`, and those with
  /// a zero in `needed`, which has one byte a row) do not fail.
  Block evaluate(const Rows& rows, std::int64_t begin, std::int64_t size, const std::uint8_t* needed = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// All values of an expression over `rows` as a column of its evaluation type (parallel; deterministic; the error of
/// the lowest failing row).
Column evaluate_all(const query::BoundExpression& expression, const Table& table, const Rows& rows, std::string name);
Column evaluate_all(std::shared_ptr<const Program> program, const Rows& rows, std::string name);

/// Ascending ids among `rows` for which the condition is true (NULL is not true).
Vector<RowId> filter(const query::BoundExpression& condition, const Table& table, const Rows& rows);

}  // namespace skyrank::exec
