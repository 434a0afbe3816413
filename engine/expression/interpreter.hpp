#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/expression/ir.hpp"
#include "engine/expression/operand_order.hpp"
#include "engine/expression/vec.hpp"

namespace skyrank::exec {

/// Runs operations over blocks. For one thread.
class Interpreter {
 public:
  /// The failure of the lowest row of a block that failed.
  struct Failure {
    std::int64_t position = 0;  ///< in the block
    std::string message;
  };

  /// Values of the last of `operations` for rows[begin], ..., rows[begin + size - 1]; these operations must outlive the
  /// values. Check `failure()` before using them. `needed`: a byte a row, 0 for rows that cannot fail, whose values
  /// mean nothing; or null.
  Vec run(std::span<const Operation> operations, const Rows& rows, std::int64_t begin, std::int64_t size,
          const std::uint8_t* needed = nullptr);

  const std::optional<Failure>& failure() const { return failure_; }

  /// The same values as an array, one a row.
  Vec spread(Vec vec, std::int64_t size);

 private:
  /// Rows whose value is needed: a byte each, or null for all of them. Others are computed too, but cannot fail.
  using Active = const std::uint8_t*;

  // Recursion: the frames of these are on the stack once for each level of an expression.
  Vec evaluate(const Operation& operation, Active active);
  std::vector<Vec> evaluate_operands(const Operation& operation, Active active);
  Vec logic(const Operation& operation, Active active);
  /// Evaluates a condition for the rows that `needed` flags, `count` of them, as a list.
  Vec evaluate_listed(const Operation& condition, const std::uint8_t* needed, std::int64_t count);
  Vec case_when(const Operation& operation, Active active);
  Vec coalesce(const Operation& operation, Active active);
  Vec is_null(const Operation& operation, Active active);

  // Leaves, and operations whose operands are all needed.
  Vec literal(const Operation& operation);
  Vec load(const Operation& operation);
  Vec look_up_answers(const Operation& operation);
  Vec apply(const Operation& operation, std::span<Vec> operands, Active active);
  Vec unary(const Operation& operation, Vec in, Active active);
  Vec arithmetic(const Operation& operation, std::span<Vec> operands, Active active);
  /// Records the failure of an operation whose results are `out`. Neither operand is constant.
  void record_arithmetic_failure(const Operation& operation, const Vec& a, const Vec& b, const Vec& out, Active active);
  Vec extremum(const Operation& operation, std::span<Vec> operands, Active active);
  Vec comparison(query::Op op, std::span<Vec> operands);
  Vec between(const Operation& operation, std::span<Vec> operands);
  Vec in(const Operation& operation, std::span<Vec> operands);
  Vec in_members(const Operation& operation, Vec operand);
  Vec logical_not(Vec operand);
  Vec bucket(const Operation& operation, std::span<Vec> operands);
  Vec log_bucket(std::span<Vec> operands, Active active);
  Vec date_part(const Operation& operation, Vec in);
  Vec text_length(Vec in);
  Vec change_case(const Operation& operation, Vec in);
  Vec like(const Operation& operation, std::span<Vec> operands);
  Vec concat(std::span<Vec> operands);
  Vec cast(const Operation& operation, Vec in, Active active);
  /// Memory for the strings of a block that an operation makes.
  char* take_text(std::size_t bytes);

  /// Treatment of a value outside the type that it is converted to.
  enum class Excess { fails, saturates_above, saturates_below };

  Vec compare(query::Op op, Vec& a, Vec& b);
  Vec subtract_times(const Operation& operation, Vec a, Vec b, Active active);
  Vec convert(Vec vec, DataType type, Active active, Excess excess = Excess::fails);

  // Decimals. `to_decimal` takes integers and decimals of no greater scale than that of `type`.
  Vec to_decimal(Vec vec, DataType type, Active active);
  Vec decimal_to_float(Vec vec);
  Vec decimal_arithmetic(const Operation& operation, std::span<Vec> operands, Active active);
  Vec decimal_unary(const Operation& operation, Vec in, Active active);

  Vec combine_logic(query::Op op, Vec left, const Vec& right);
  void negate_truth(Vec& vec);
  /// The values of `case` or `coalesce` while rows take them from its branches; all NULL at first.
  struct Choice {
    Vec out;
    std::uint8_t* valid;
    Buffer open_rows;
    std::uint8_t* open;  ///< rows that have taken none
  };
  Choice begin_choice(const Operation& operation, Active active);
  /// The rows that `taken` flags get the values of a branch.
  void take_branch(const Vec& branch, const std::uint8_t* taken, Choice& choice);
  /// Flags the rows of `active`, or all rows.
  void store_active(Active active, std::uint8_t* out) const;
  Vec fresh(DataType type);

  /// Rows of `out` are NULL where those of `a` or `b` are; takes their memory.
  static void intersect_validity(std::int64_t size, Vec& out, Vec& a, Vec& b);
  static void take_validity(Vec& out, Vec& from);
  /// The same values; NULLs are copied. Must not outlive `vec`.
  Vec alias(const Vec& vec);

  /// Rows of `active` where no operand is NULL: those whose result needs the values.
  Active all_present(std::span<const Vec> operands, Active active, Buffer& scratch) const;

  /// Records a failure of the lowest position for which `failed` is true, among rows that are needed and not NULL.
  void record_failure(const std::uint8_t* valid, Active active, const std::function<bool(std::int64_t)>& failed,
                      const std::function<std::string(std::int64_t)>& describe);

  const Operation& operand(const Operation& operation, std::size_t i) const {
    return operations_[operation.operands[i]];
  }

  BufferPool pool_;
  std::unordered_map<const Operation*, OperandOrder> orders_;  // of each `and` and `or`
  std::vector<kernels::Array<char>> texts_;                    // strings that operations made for this block
  std::span<const Operation> operations_;
  Rows rows_;
  std::int64_t begin_ = 0;
  std::int64_t size_ = 0;
  std::optional<Failure> failure_;
};

}  // namespace skyrank::exec
