#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/expression/ir.hpp"

namespace skyrank::exec {

/// The order in which the operands of an `and` or an `or` are evaluated: first those that decide the most rows for what
/// they cost, as far as the blocks before tell (Babu et al., "Adaptive Ordering of Pipelined Stream Filters", SIGMOD
/// 2004). Where an operand may fail, the order is that of the text, in which operands guard those after them.
class OperandOrder {
 public:
  OperandOrder(std::span<const Operation> operations, const Operation& logic);

  /// The operand, by its place in the text, that is evaluated at this place.
  std::size_t operator[](std::size_t place) const { return order_[place]; }

  /// Returns true if the operand at a place is cheaper to evaluate for `left` of a block's rows, put in a list, than
  /// for all of them.
  bool pays_to_list(std::size_t place, std::int64_t left, std::int64_t rows) const;

  /// Notes that of `before` undecided rows the operand at a place has left so many.
  void learn(std::size_t place, std::int64_t before, std::int64_t left);

  /// Puts the operands in order again now and then.
  void end_block();

 private:
  struct Operand {
    double row_cost = 1;     ///< cost of a row beside the one before, in units of an operation on numbers
    double listed_cost = 1;  ///< cost of a row that stands alone
    double before = 0;
    double left = 0;

    double rank() const;
  };

  void sort();

  std::vector<Operand> operands_;  // by place in the text
  std::vector<std::size_t> order_;
  bool is_fixed_ = false;
  int blocks_ = 0;
};

}  // namespace skyrank::exec
