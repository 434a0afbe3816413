#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/expression/interpreter.hpp"

namespace skyrank::exec {
namespace {

using query::Op;

/// Flags the rows whose value of an `and` or an `or` is not decided by the operands so far, those alone that `active`
/// flags; returns their number. A row is decided by a value other than `undecided`.
std::int64_t mark_undecided(const Vec& so_far, std::int64_t size, std::uint8_t undecided, const std::uint8_t* active,
                            std::uint8_t* needed) {
  const auto* const values = so_far.as<std::uint8_t>();
  const std::uint8_t* const valid = so_far.valid;
  if (valid == nullptr) {
    set_rows(needed, size, [=](std::int64_t i) { return values[i] ^ undecided ^ 1; });
  } else {
    set_rows(needed, size, [=](std::int64_t i) { return (values[i] ^ undecided ^ 1) | (valid[i] ^ 1); });
  }
  if (active != nullptr) {
    for (std::int64_t i = 0; i < size; ++i) needed[i] &= active[i];
  }
  static_assert(kBlockRows <= std::numeric_limits<std::uint16_t>::max());
  return std::accumulate(needed, needed + size, std::uint16_t{0});
}

/// Lists the places of the rows that are flagged. Eight rows without any are passed at once.
void list_flagged(const std::uint8_t* flags, std::int64_t size, std::int32_t* __restrict places) {
  constexpr std::int64_t kAtOnce = sizeof(std::uint64_t);
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < size;) {
    const std::int64_t end = std::min(i + kAtOnce, size);
    std::uint64_t any = 0;
    std::memcpy(&any, flags + i, static_cast<std::size_t>(end - i));
    if (any == 0) {
      i = end;
      continue;
    }
    for (; i < end; ++i) {
      places[next] = static_cast<std::int32_t>(i);
      next += flags[i];
    }
  }
}

}  // namespace

void Interpreter::negate_truth(Vec& vec) {
  auto* values = vec.values.as<std::uint8_t>();
  const std::int64_t size = size_;
  for (std::int64_t i = 0; i < size; ++i) values[i] ^= 1;
}

/// Kleene's logic: false decides `and`, true decides `or`, even beside NULL.
Vec Interpreter::combine_logic(Op op, Vec left, const Vec& right) {
  const std::uint8_t flip = op == Op::logical_and ? 1 : 0;  // deciding values as 1: a ^ flip
  Vec out = fresh(Type::boolean);
  const auto* a = left.as<std::uint8_t>();
  const auto* b = right.as<std::uint8_t>();
  auto* values = out.values.as<std::uint8_t>();
  set_rows(values, size_, [=](std::int64_t i) { return ((a[i] ^ flip) | (b[i] ^ flip)) ^ flip; });
  if (left.valid == nullptr && right.valid == nullptr) return out;
  out.validity = pool_.take();
  auto* valid = out.validity.as<std::uint8_t>();
  for (std::int64_t i = 0; i < size_; ++i) {
    const std::uint8_t va = left.valid == nullptr ? std::uint8_t{1} : left.valid[i];
    const std::uint8_t vb = right.valid == nullptr ? std::uint8_t{1} : right.valid[i];
    const auto decides_a = static_cast<std::uint8_t>(va & (a[i] ^ flip));
    const auto decides_b = static_cast<std::uint8_t>(vb & (b[i] ^ flip));
    valid[i] = static_cast<std::uint8_t>((va & vb) | decides_a | decides_b);
    // The value of a NULL side does not count.
    values[i] = static_cast<std::uint8_t>((decides_a | decides_b) ^ flip);
  }
  out.valid = valid;
  return out;
}

Vec Interpreter::logical_not(Vec operand) {
  operand = spread(std::move(operand), size_);
  Vec out = fresh(Type::boolean);
  std::copy_n(operand.as<std::uint8_t>(), size_, out.values.as<std::uint8_t>());
  negate_truth(out);
  take_validity(out, operand);
  return out;
}

Vec Interpreter::logic(const Operation& operation, Active active) {
  OperandOrder& order = orders_.try_emplace(&operation, operations_, operation).first->second;
  const std::uint8_t undecided = operation.op == Op::logical_and ? 1 : 0;
  Vec result = spread(evaluate(operand(operation, order[0]), active), size_);
  Buffer needed_buffer = pool_.take();
  auto* needed = needed_buffer.as<std::uint8_t>();
  std::int64_t before = size_;
  for (std::size_t place = 1; place < operation.operands.size(); ++place) {
    const std::int64_t left = mark_undecided(result, size_, undecided, active, needed);
    order.learn(place - 1, before, left);
    if (left == 0) break;
    const Operation& next = operand(operation, order[place]);
    const bool listed = order.pays_to_list(place, left, size_);
    const Vec right = listed ? evaluate_listed(next, needed, left) : spread(evaluate(next, needed), size_);
    result = combine_logic(operation.op, std::move(result), right);
    before = left;
  }
  order.end_block();
  return result;
}

[[gnu::noinline]] Vec Interpreter::evaluate_listed(const Operation& condition, const std::uint8_t* needed,
                                                   std::int64_t count) {
  Buffer place_buffer = pool_.take();
  Buffer id_buffer = pool_.take();
  auto* places = place_buffer.as<std::int32_t>();
  auto* ids = id_buffer.as<RowId>();
  list_flagged(needed, size_, places);
  set_rows(ids, count, [=, rows = rows_, begin = begin_](std::int64_t i) { return rows[begin + places[i]]; });

  const Rows rows = std::exchange(rows_, Rows{count, ids});
  const std::int64_t begin = std::exchange(begin_, 0);
  const std::int64_t size = std::exchange(size_, count);
  std::optional<Failure> failure = std::exchange(failure_, std::nullopt);
  const Vec listed = spread(evaluate(condition, nullptr), count);
  rows_ = rows;
  begin_ = begin;
  size_ = size;
  if (failure_) failure_->position = places[failure_->position];
  if (failure && (!failure_ || failure->position < failure_->position)) failure_ = std::move(failure);

  // The values of other rows are decided, whatever stands here.
  Vec out = fresh(Type::boolean);
  auto* values = out.values.as<std::uint8_t>();
  std::fill_n(values, size_, std::uint8_t{0});
  for (std::int64_t i = 0; i < count; ++i) values[places[i]] = listed.as<std::uint8_t>()[i];
  if (listed.valid == nullptr) return out;
  out.validity = pool_.take();
  auto* valid = out.validity.as<std::uint8_t>();
  std::fill_n(valid, size_, std::uint8_t{1});
  for (std::int64_t i = 0; i < count; ++i) valid[places[i]] = listed.valid[i];
  out.valid = valid;
  return out;
}

}  // namespace skyrank::exec
