#include "engine/expression/interpreter.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/expression/load.hpp"
#include "engine/expression/numeric.hpp"

// The structure of evaluation: leaves, three-valued logic, choice. Loops over numbers are in arithmetic.cpp and
// comparison.cpp.
namespace skyrank::exec {

using query::Op;

namespace {

constexpr std::array<std::uint8_t, kBlockRows> kAllNull{};

bool any(const std::uint8_t* flags, std::int64_t size) {
  return std::memchr(flags, 1, static_cast<std::size_t>(size)) != nullptr;
}

/// Clears the flags that are not among `others` too.
void keep_both(std::uint8_t* __restrict flags, std::int64_t size, const std::uint8_t* others) {
  for (std::int64_t i = 0; i < size; ++i) flags[i] &= others[i];
}

/// A stored value in its evaluation type, which holds it exactly.
template <class T, class Stored>
T widened(Stored value) {
  if constexpr (std::is_same_v<Stored, Float16>) {
    return static_cast<T>(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace

Vec Interpreter::run(std::span<const Operation> operations, const Rows& rows, std::int64_t begin, std::int64_t size,
                     const std::uint8_t* needed) {
  if (operations.data() != operations_.data()) orders_.clear();
  operations_ = operations;
  texts_.clear();
  rows_ = rows;
  begin_ = begin;
  size_ = size;
  failure_.reset();
  return evaluate(operations.back(), needed);
}

Vec Interpreter::evaluate(const Operation& operation, Active active) {
  if (operation.answers != nullptr) return look_up_answers(operation);
  switch (operation.op) {
    case Op::literal: return literal(operation);
    case Op::column: return load(operation);
    case Op::logical_and:
    case Op::logical_or: return logic(operation, active);
    case Op::case_when: return case_when(operation, active);
    case Op::coalesce: return coalesce(operation, active);
    case Op::is_null: return is_null(operation, active);
    default: break;
  }
  std::vector<Vec> operands = evaluate_operands(operation, active);
  return apply(operation, operands, active);
}

std::vector<Vec> Interpreter::evaluate_operands(const Operation& operation, Active active) {
  const std::size_t count = operation.operands.size();
  std::vector<Vec> operands;
  operands.reserve(count);
  for (std::size_t i = 0; i < count; ++i) operands.push_back(evaluate(operand(operation, i), active));
  return operands;
}

// Not inlined, so that the memory of its loops does not add up along the recursion.
[[gnu::noinline]] Vec Interpreter::apply(const Operation& operation, std::span<Vec> operands, Active active) {
  if (query::is_arithmetic(operation.op)) return arithmetic(operation, operands, active);
  if (query::is_comparison(operation.op)) return comparison(operation.op, operands);
  if (query::is_time_part(operation.op)) return date_part(operation, std::move(operands[0]));
  switch (operation.op) {
    case Op::in:
      return operation.members != nullptr ? in_members(operation, std::move(operands[0])) : in(operation, operands);
    case Op::between: return between(operation, operands);
    case Op::min:
    case Op::max: return extremum(operation, operands, active);
    case Op::logical_not: return logical_not(std::move(operands[0]));
    case Op::like: return like(operation, operands);
    case Op::concat: return concat(operands);
    case Op::cast: return cast(operation, std::move(operands[0]), active);
    case Op::bucket: return bucket(operation, operands);
    case Op::log_bucket: return log_bucket(operands, active);
    case Op::length: return text_length(std::move(operands[0]));
    case Op::lower:
    case Op::upper: return change_case(operation, std::move(operands[0]));
    default: return unary(operation, std::move(operands[0]), active);
  }
}

Vec Interpreter::fresh(DataType type) {
  Vec out;
  out.type = type;
  out.values = pool_.take();
  out.data = out.values.as<std::byte>();
  return out;
}

Vec Interpreter::spread(Vec vec, std::int64_t size) {
  if (!vec.constant) return vec;
  Vec out = fresh(vec.type);
  with_evaluation_type(vec.type.type, [&]<class T>(T) { std::fill_n(out.values.as<T>(), size, *vec.as<T>()); });
  take_validity(out, vec);
  return out;
}

void Interpreter::take_validity(Vec& out, Vec& from) {
  out.valid = from.valid;
  out.validity = std::move(from.validity);
}

void Interpreter::intersect_validity(std::int64_t size, Vec& out, Vec& a, Vec& b) {
  if (a.valid == nullptr) return take_validity(out, b);
  if (b.valid == nullptr || a.valid == kAllNull.data()) return take_validity(out, a);
  if (b.valid == kAllNull.data()) return take_validity(out, b);
  keep_both(a.validity.as<std::uint8_t>(), size, b.valid);
  take_validity(out, a);
}

Vec Interpreter::alias(const Vec& vec) {
  Vec out;
  out.type = vec.type;
  out.data = vec.data;
  out.constant = vec.constant;
  out.valid = vec.valid;
  if (vec.valid != nullptr && vec.valid != kAllNull.data()) {
    out.validity = pool_.take();
    out.valid = std::copy_n(vec.valid, size_, out.validity.as<std::uint8_t>()) - size_;
  }
  return out;
}

Interpreter::Active Interpreter::all_present(std::span<const Vec> operands, Active active, Buffer& scratch) const {
  const auto has_null = [](const Vec& operand) { return operand.valid != nullptr; };
  if (std::none_of(operands.begin(), operands.end(), has_null)) return active;
  auto* present = scratch.as<std::uint8_t>();
  store_active(active, present);
  for (const Vec& operand : operands) {
    if (operand.valid == nullptr) continue;
    keep_both(present, size_, operand.valid);
  }
  return present;
}

void Interpreter::record_failure(const std::uint8_t* valid, Active active,
                                 const std::function<bool(std::int64_t)>& failed,
                                 const std::function<std::string(std::int64_t)>& describe) {
  const std::int64_t end = failure_ ? failure_->position : size_;
  for (std::int64_t i = 0; i < end; ++i) {
    if ((valid != nullptr && valid[i] == 0) || (active != nullptr && active[i] == 0) || !failed(i)) continue;
    failure_ = Failure{i, describe(i)};
    return;
  }
}

Vec Interpreter::literal(const Operation& operation) {
  Vec out;
  out.type = operation.type;
  out.constant = true;
  out.data =
      std::visit([](const auto& stored) { return static_cast<const void*>(&stored); }, operation.constant->stored);
  if (std::holds_alternative<Null>(operation.constant->value)) out.valid = kAllNull.data();
  return out;
}

[[gnu::noinline]] Vec Interpreter::load(const Operation& operation) {
  const ColumnData& column = *operation.data;
  Vec out = fresh(operation.type);
  if (column.validity.bits != nullptr) {
    out.validity = pool_.take();
    out.valid = load_validity(column, rows_, begin_, size_, out.validity.as<std::uint8_t>());
  }
  if (column.type.type == Type::string) {
    out.data = load_strings(column, rows_, begin_, size_, out.valid, out.values.as<std::string_view>());
    return out;
  }
  if (column.type.type == Type::boolean) {
    out.data = load_booleans(column, rows_, begin_, size_, out.values.as<std::uint8_t>());
    return out;
  }
  with_stored_type(column.type.type, [&]<class Stored>(Stored) {
    with_evaluation_type(out.type.type, [&]<class T>(T) {
      if constexpr (std::is_same_v<Stored, T>) {
        out.data = load_values(column, rows_, begin_, size_, out.values.as<T>());
      } else if constexpr (!std::is_same_v<T, std::string_view> && !std::is_same_v<T, std::uint8_t>) {
        Buffer scratch = pool_.take();
        const Stored* stored = load_values(column, rows_, begin_, size_, scratch.as<Stored>());
        T* values = out.values.as<T>();
        set_rows(values, size_, [=](std::int64_t i) { return widened<T>(stored[i]); });
      }
    });
  });
  return out;
}

[[gnu::noinline]] Vec Interpreter::look_up_answers(const Operation& operation) {
  Vec out = fresh(Type::boolean);
  out.validity = pool_.take();
  auto* valid = out.validity.as<std::uint8_t>();
  const std::uint8_t* present = load_validity(*operation.data, rows_, begin_, size_, valid);
  Buffer scratch = pool_.take();
  const std::int64_t* entries =
      load_indices(*operation.data, rows_, begin_, size_, present, scratch.as<std::int64_t>());
  const EntryAnswers& answers = *operation.answers;
  auto* values = out.values.as<std::uint8_t>();
  for (std::int64_t i = 0; i < size_; ++i) {
    const bool is_null = present != nullptr && present[i] == 0;
    const auto entry = is_null ? answers.null_entry() : static_cast<std::size_t>(entries[i]);
    values[i] = answers.value[entry];
    valid[i] = answers.valid[entry];
  }
  out.valid = valid;
  return out;
}

Vec Interpreter::is_null(const Operation& operation, Active active) {
  const Operation& child = operand(operation, 0);
  Vec values;
  if (child.op == Op::column) {
    values.validity = pool_.take();
    values.valid = load_validity(*child.data, rows_, begin_, size_, values.validity.as<std::uint8_t>());
  } else {
    values = evaluate(child, active);
  }
  Vec out = fresh(Type::boolean);
  auto* truth = out.values.as<std::uint8_t>();
  const std::uint8_t present = operation.negated ? 1 : 0;
  if (values.valid == nullptr) {
    std::fill_n(truth, size_, present);
  } else {
    set_rows(truth, size_, [=, valid = values.valid](std::int64_t i) { return (valid[i] ^ 1) ^ present; });
  }
  return out;
}

void Interpreter::store_active(Active active, std::uint8_t* out) const {
  if (active == nullptr) {
    std::fill_n(out, size_, std::uint8_t{1});
  } else {
    std::copy_n(active, size_, out);
  }
}

[[gnu::noinline]] Interpreter::Choice Interpreter::begin_choice(const Operation& operation, Active active) {
  Choice choice{.out = fresh(operation.type), .valid = nullptr, .open_rows = pool_.take(), .open = nullptr};
  choice.out.validity = pool_.take();
  choice.valid = choice.out.validity.as<std::uint8_t>();
  choice.out.valid = choice.valid;
  std::fill_n(choice.valid, size_, std::uint8_t{0});
  with_evaluation_type(operation.type.type, [&]<class T>(T) { std::fill_n(choice.out.values.as<T>(), size_, T{}); });
  choice.open = choice.open_rows.as<std::uint8_t>();
  store_active(active, choice.open);
  return choice;
}

[[gnu::noinline]] void Interpreter::take_branch(const Vec& branch, const std::uint8_t* taken, Choice& choice) {
  std::uint8_t* const valid = choice.valid;
  with_evaluation_type(choice.out.type.type, [&]<class T>(T) {
    const T* from = branch.as<T>();
    T* values = choice.out.values.as<T>();
    for (std::int64_t i = 0; i < size_; ++i) values[i] = taken[i] != 0 ? from[i] : values[i];
  });
  for (std::int64_t i = 0; i < size_; ++i) {
    valid[i] |= taken[i] & (branch.valid == nullptr ? std::uint8_t{1} : branch.valid[i]);
  }
}

Vec Interpreter::case_when(const Operation& operation, Active active) {
  Choice choice = begin_choice(operation, active);
  std::uint8_t* const open = choice.open;
  Buffer taken_buffer = pool_.take();
  auto* taken = taken_buffer.as<std::uint8_t>();
  const std::size_t count = operation.operands.size();
  for (std::size_t child = 0; child < count && any(open, size_); child += 2) {
    const bool is_else = child + 1 == count;
    if (is_else) {
      std::copy_n(open, size_, taken);
    } else {
      const Vec condition = spread(evaluate(operand(operation, child), open), size_);
      const auto* truth = condition.as<std::uint8_t>();
      set_rows(taken, size_, [=](std::int64_t i) { return open[i] & truth[i]; });
      if (condition.valid != nullptr) keep_both(taken, size_, condition.valid);
      if (!any(taken, size_)) continue;
    }
    const Operation& branch = operand(operation, is_else ? child : child + 1);
    take_branch(spread(convert(evaluate(branch, taken), operation.type, taken), size_), taken, choice);
    for (std::int64_t i = 0; i < size_; ++i) {
      open[i] = static_cast<std::uint8_t>(open[i] & (taken[i] ^ 1));
    }
  }
  return std::move(choice.out);
}

/// The first value that is not NULL. An operand is needed only for rows on which all before it are NULL.
Vec Interpreter::coalesce(const Operation& operation, Active active) {
  Choice choice = begin_choice(operation, active);
  std::uint8_t* const open = choice.open;
  const std::uint8_t* const valid = choice.valid;
  for (std::size_t i = 0; i < operation.operands.size() && any(open, size_); ++i) {
    const Vec values = spread(convert(evaluate(operand(operation, i), open), operation.type, open), size_);
    take_branch(values, open, choice);
    for (std::int64_t row = 0; row < size_; ++row) open[row] = static_cast<std::uint8_t>(open[row] & (valid[row] ^ 1));
  }
  return std::move(choice.out);
}

}  // namespace skyrank::exec
