#include "engine/expression/operand_order.hpp"

#include <algorithm>
#include <numeric>

#include "engine/expression/patterns.hpp"

namespace skyrank::exec {
namespace {

using query::Op;

// In units of an operation on numbers, which is vectorised, as measured over blocks of a column of floats and one of
// short texts.
constexpr double kLoad = 1;
constexpr double kListedLoad = 12;
constexpr double kDear = 48;    // an operation on texts, or a logarithm
constexpr double kListing = 3;  // a row of the block that is to be put in a list and back

bool is_text(const Operation& operation) { return operation.type.type == Type::string; }

/// Returns the operations of the operand that ends with `last`.
std::span<const Operation> part_of(std::span<const Operation> operations, std::uint32_t last) {
  std::uint32_t first = last;
  while (!operations[first].operands.empty()) first = operations[first].operands.front();
  return operations.subspan(first, last - first + 1);
}

bool is_dear(std::span<const Operation> operations, const Operation& operation) {
  return operation.op == Op::log || operation.op == Op::exp ||
         std::ranges::any_of(operation.operands, [&](std::uint32_t i) { return is_text(operations[i]); });
}

}  // namespace

OperandOrder::OperandOrder(std::span<const Operation> operations, const Operation& logic)
    : order_(logic.operands.size()) {
  for (const std::uint32_t last : logic.operands) {
    const std::span<const Operation> part = part_of(operations, last);
    is_fixed_ = is_fixed_ || !never_fails(part);
    Operand operand{.row_cost = 0, .listed_cost = 0};
    if (part.back().answers != nullptr) {
      operand = {.row_cost = 1 + kLoad, .listed_cost = 1 + kListedLoad};
    } else {
      for (const Operation& operation : part) {
        const bool loads = operation.op == Op::column;
        const double cost = is_literal(operation) || loads ? 0 : is_dear(operations, operation) ? kDear : 1;
        operand.row_cost += cost + (loads ? kLoad : 0);
        operand.listed_cost += cost + (loads ? kListedLoad : 0);
      }
    }
    operands_.push_back(operand);
  }
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  sort();
}

bool OperandOrder::pays_to_list(std::size_t place, std::int64_t left, std::int64_t rows) const {
  const Operand& operand = operands_[order_[place]];
  const auto all = static_cast<double>(rows);
  return static_cast<double>(left) * operand.listed_cost + all * kListing < all * operand.row_cost;
}

void OperandOrder::learn(std::size_t place, std::int64_t before, std::int64_t left) {
  Operand& operand = operands_[order_[place]];
  operand.before += static_cast<double>(before);
  operand.left += static_cast<double>(left);
}

void OperandOrder::end_block() {
  constexpr int kBlocks = 8;
  if (blocks_++ % kBlocks == 0) sort();
}

double OperandOrder::Operand::rank() const {
  constexpr double kPrior = 64;  // rows, half of which are decided
  const double decided = (before - left + kPrior / 2) / (before + kPrior);
  return row_cost / decided;
}

void OperandOrder::sort() {
  if (is_fixed_) return;
  std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return operands_[i].rank(); });
}

}  // namespace skyrank::exec
