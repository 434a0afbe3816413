#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/common/stored.hpp"

// Expressions over stored columns as programs for a stack machine, which runs them a row at a time: data, so that one
// kernel evaluates them all. Values are int64, uint64, float64 or truths (0 or 1), NULL or not; operations round and
// fail as those of the engine's evaluator do, bit for bit (but for the payloads of NaNs).
namespace skyrank::kernels {

__extension__ using Int128 = __int128;

enum class Number : std::uint8_t { int64, uint64, float64 };

/// The operation of an instruction. Operands are popped, the last one first; one value is pushed.
enum class Opcode : std::uint8_t {
  constant,  ///< `bits`; NULL where `flag`
  column,    ///< the value of column `index`, in its evaluation type
  answer,    ///< `table[value]` of an integer column: bit 0 is a truth, bit 1 says whether it is one
  // Conversions of the top value.
  to_float,  ///< from `left`
  to_int,    ///< from uint64; what does not fit fails, or with `flag` becomes the highest
  scale,     ///< int64 times `left_factor`
  // Arithmetic on `left` and `right`: of one type, or int64 with uint64. `flag`: the result is a date.
  add,
  subtract,
  multiply,
  divide,
  modulo,
  negate,
  absolute,
  square_root,
  round_down,
  round_up,
  lesser,  ///< the first of equal operands stays; NaN replaces a number
  greater,
  // Comparison by value: numbers of any two types, or times, which are int64s times their factors.
  equal,
  not_equal,
  less,
  less_equal,
  between,  ///< value, lower, upper: lower <= value <= upper, negated where `flag`; `middle` is the type of lower
  member,   ///< tests membership in `table`, `count` ascending uint64; negated where `flag`; `has_null`: NULL is a
            ///< member too
  is_null,  ///< is not, where `flag`
  logical_and,
  logical_or,
  logical_not,
  choose,  ///< `count` values: condition, value, condition, value, ..., [else]
};

struct Instruction {
  Opcode op = Opcode::constant;
  Number left = Number::int64;   ///< type of the first or only operand
  Number right = Number::int64;  ///< type of the second operand; of the third for `between`
  Number middle = Number::int64;
  bool flag = false;
  bool has_null = false;
  bool times = false;  ///< comparison in 128 bits, after the factors
  std::uint32_t index = 0;
  std::uint32_t count = 0;
  std::uint64_t bits = 0;
  std::int64_t left_factor = 1;
  std::int64_t right_factor = 1;
  std::int64_t middle_factor = 1;
  const void* table = nullptr;  ///< in the memory of whoever runs the program
};

/// Values that an instruction takes off the stack.
SKYRANK_HD constexpr int operands_of(const Instruction& how) {
  switch (how.op) {
    case Opcode::constant:
    case Opcode::column:
    case Opcode::answer: return 0;
    case Opcode::add:
    case Opcode::subtract:
    case Opcode::multiply:
    case Opcode::divide:
    case Opcode::modulo:
    case Opcode::lesser:
    case Opcode::greater:
    case Opcode::equal:
    case Opcode::not_equal:
    case Opcode::less:
    case Opcode::less_equal:
    case Opcode::logical_and:
    case Opcode::logical_or: return 2;
    case Opcode::between: return 3;
    case Opcode::choose: return static_cast<int>(how.count);
    default: break;
  }
  return 1;
}

/// Most values that a program may have on its stack.
inline constexpr int kMaxStacked = 48;

/// A program and the columns that it reads.
struct Expression {
  const Instruction* instructions = nullptr;
  const StoredColumn* columns = nullptr;
  std::uint32_t count = 0;
};

/// The value of a row. A row has failed where an operation whose value is needed has: an integer overflow, or a
/// division of integers by zero. It may be said to have failed where the engine's evaluator finds no fault, never the
/// other way round.
struct RowValue {
  std::uint64_t bits = 0;
  bool valid = true;
  bool failed = false;
};

namespace detail {

/// Exact order of two numbers.
struct Order {
  bool less = false;
  bool equal = false;
};

SKYRANK_HD inline double as_double(std::uint64_t bits) { return with_bits_of<double>(bits); }

SKYRANK_HD inline std::uint64_t bits_of(double value) { return with_bits_of<std::uint64_t>(value); }

/// An integer of either type, exactly.
SKYRANK_HD inline Int128 as_integer(Number type, std::uint64_t bits) {
  return type == Number::int64 ? Int128{static_cast<std::int64_t>(bits)} : Int128{bits};
}

/// An integer against a float: with its whole part first, then with the rest.
SKYRANK_HD inline Order order_with_float(Int128 a, double b) {
  constexpr double kBeyond = 0x1p65;
  if (b != b) return {};
  if (b >= kBeyond) return {true, false};
  if (b <= -kBeyond) return {};
  const auto whole = static_cast<Int128>(b);
  const double rest = b - static_cast<double>(whole);
  if (a != whole) return {a < whole, false};
  return {rest > 0, rest == 0};
}

SKYRANK_HD inline Order order_of(Number left, std::uint64_t a, Number right, std::uint64_t b) {
  if (left == Number::float64 && right == Number::float64) {
    return {as_double(a) < as_double(b), as_double(a) == as_double(b)};
  }
  if (left == right) {
    const std::uint64_t x = left == Number::int64 ? a ^ (std::uint64_t{1} << 63) : a;
    const std::uint64_t y = left == Number::int64 ? b ^ (std::uint64_t{1} << 63) : b;
    return {x < y, x == y};
  }
  if (right == Number::float64) return order_with_float(as_integer(left, a), as_double(b));
  if (left == Number::float64) {
    const double x = as_double(a);
    const Order mirrored = order_with_float(as_integer(right, b), x);
    return {x == x && !mirrored.less && !mirrored.equal, mirrored.equal};
  }
  const Int128 x = as_integer(left, a);
  const Int128 y = as_integer(right, b);
  return {x < y, x == y};
}

SKYRANK_HD inline bool holds(Opcode op, Order order) {
  switch (op) {
    case Opcode::equal: return order.equal;
    case Opcode::not_equal: return !order.equal;
    case Opcode::less: return order.less;
    default: break;
  }
  return order.less || order.equal;
}

/// With a factor for each, for times of several units.
SKYRANK_HD inline bool compared(Opcode op, const Instruction& how, Number left, std::uint64_t a,
                                std::int64_t left_factor, Number right, std::uint64_t b, std::int64_t right_factor) {
  if (how.times) {
    const Int128 x = Int128{static_cast<std::int64_t>(a)} * left_factor;
    const Int128 y = Int128{static_cast<std::int64_t>(b)} * right_factor;
    return holds(op, {x < y, x == y});
  }
  return holds(op, order_of(left, a, right, b));
}

// Never contracted into one operation that rounds once.
#if defined(__CUDA_ARCH__)
SKYRANK_HD inline double sum_of(double a, double b) { return __dadd_rn(a, b); }
SKYRANK_HD inline double difference_of(double a, double b) { return __dsub_rn(a, b); }
SKYRANK_HD inline double product_of(double a, double b) { return __dmul_rn(a, b); }
#else
SKYRANK_HD inline double sum_of(double a, double b) { return a + b; }
SKYRANK_HD inline double difference_of(double a, double b) { return a - b; }
SKYRANK_HD inline double product_of(double a, double b) { return a * b; }
#endif

SKYRANK_HD inline double calculated(Opcode op, double a, double b) {
  switch (op) {
    case Opcode::add: return sum_of(a, b);
    case Opcode::subtract: return difference_of(a, b);
    case Opcode::multiply: return product_of(a, b);
    case Opcode::divide: return a / b;
    default: break;
  }
  return fmod(a, b);
}

/// Computes with integers: exactly, then into int64, or uint64 where both operands are.
SKYRANK_HD inline std::uint64_t calculated(Opcode op, Number left, std::uint64_t a, Number right, std::uint64_t b,
                                           bool& failed) {
  const Int128 x = as_integer(left, a);
  const Int128 y = as_integer(right, b);
  const bool unsigned_result = left == Number::uint64 && right == Number::uint64;
  Int128 result = 0;
  if (op == Opcode::multiply && unsigned_result) {
    // The one product that 128 bits with a sign do not hold.
    __extension__ using Product = unsigned __int128;
    const Product product = Product{a} * Product{b};
    failed = (product >> 64) != 0;
    return static_cast<std::uint64_t>(product);
  }
  if ((op == Opcode::divide || op == Opcode::modulo) && b == 0) {
    failed = true;
    return 0;
  }
  switch (op) {
    case Opcode::add: result = x + y; break;
    case Opcode::subtract: result = x - y; break;
    case Opcode::multiply: result = x * y; break;
    case Opcode::divide: result = x / y; break;
    default: result = x % y; break;
  }
  const auto bits = static_cast<std::uint64_t>(result);
  failed = as_integer(unsigned_result ? Number::uint64 : Number::int64, bits) != result;
  return bits;
}

SKYRANK_HD inline bool is_date(std::uint64_t bits) {
  const auto days = static_cast<std::int64_t>(bits);
  return days >= INT32_MIN && days <= INT32_MAX;
}

}  // namespace detail

/// Runs programs: `slots` has room for kMaxStacked values, `stride` apart.
class StackMachine {
 public:
  SKYRANK_HD StackMachine(std::uint64_t* slots, std::size_t stride) : slots_(slots), stride_(stride) {}

  SKYRANK_HD RowValue run(const Expression& expression, std::int64_t row) {
    depth_ = 0;
    valid_ = 0;
    failed_ = 0;
    for (std::uint32_t i = 0; i < expression.count; ++i) step(expression.instructions[i], expression.columns, row);
    return pop();
  }

  /// Applies an instruction to its one to three operands; `choose` and instructions that read columns are not among
  /// them.
  SKYRANK_HD static RowValue applied(const Instruction& how, RowValue a, RowValue b, RowValue c) {
    switch (how.op) {
      case Opcode::add:
      case Opcode::subtract:
      case Opcode::multiply:
      case Opcode::divide:
      case Opcode::modulo: return arithmetic(how, a, b);
      case Opcode::lesser:
      case Opcode::greater: return extremum(how, a, b);
      case Opcode::equal:
      case Opcode::not_equal:
      case Opcode::less:
      case Opcode::less_equal: return compare(how, a, b);
      case Opcode::between: return between(how, a, b, c);
      case Opcode::logical_and:
      case Opcode::logical_or: return combined(how.op == Opcode::logical_or, a, b);
      default: break;
    }
    return changed(how, a);
  }

  /// The value of a column, or the answer to it, that an instruction reads.
  SKYRANK_HD static RowValue read(const Instruction& how, const StoredColumn* columns, std::int64_t row) {
    return how.op == Opcode::answer ? answer(how, columns[how.index], row) : load(columns[how.index], row);
  }

 private:
  SKYRANK_HD void push(RowValue value) {
    const std::uint64_t bit = std::uint64_t{1} << depth_;
    slots_[depth_ * stride_] = value.bits;
    valid_ = value.valid ? valid_ | bit : valid_ & ~bit;
    failed_ = value.failed ? failed_ | bit : failed_ & ~bit;
    ++depth_;
  }
  SKYRANK_HD RowValue at(unsigned slot) const {
    const std::uint64_t bit = std::uint64_t{1} << slot;
    return {slots_[slot * stride_], (valid_ & bit) != 0, (failed_ & bit) != 0};
  }
  SKYRANK_HD RowValue pop() { return at(--depth_); }

  SKYRANK_HD void step(const Instruction& how, const StoredColumn* columns, std::int64_t row) {
    switch (how.op) {
      case Opcode::constant: return push({how.bits, !how.flag, false});
      case Opcode::column:
      case Opcode::answer: return push(read(how, columns, row));
      case Opcode::choose: return choose(how.count);
      default: break;
    }
    const int operands = operands_of(how);
    const RowValue c = operands > 2 ? pop() : RowValue{};
    const RowValue b = operands > 1 ? pop() : RowValue{};
    push(applied(how, pop(), b, c));
  }

  SKYRANK_HD static RowValue changed(const Instruction& how, RowValue operand) {
    switch (how.op) {
      case Opcode::member: return member(how, operand);
      case Opcode::is_null: return {operand.valid == how.flag ? std::uint64_t{1} : 0, true, operand.failed};
      case Opcode::logical_not: operand.bits ^= 1; return operand;
      default: break;
    }
    return unary(how, operand);
  }

  SKYRANK_HD static RowValue load(const StoredColumn& column, std::int64_t row) {
    const std::uint64_t bits = stored_bits(column, row);
    const bool widened = column.stored == Stored::float16 || column.stored == Stored::float32;
    return {widened ? detail::bits_of(to_double(column.stored, bits)) : bits, is_valid(column, row), false};
  }

  SKYRANK_HD static RowValue answer(const Instruction& how, const StoredColumn& column, std::int64_t row) {
    if (!is_valid(column, row)) return {0, false, false};
    const std::uint8_t found = static_cast<const std::uint8_t*>(how.table)[stored_bits(column, row)];
    return {found & std::uint64_t{1}, (found & 2) != 0, false};
  }

  SKYRANK_HD static RowValue unary(const Instruction& how, RowValue operand) {
    bool failed = false;
    const auto integer = static_cast<std::int64_t>(operand.bits);
    const double x = detail::as_double(operand.bits);
    switch (how.op) {
      case Opcode::to_float:
        operand.bits = detail::bits_of(how.left == Number::uint64 ? static_cast<double>(operand.bits)
                                                                  : static_cast<double>(integer));
        break;
      case Opcode::to_int:
        failed = integer < 0 && !how.flag;
        if (integer < 0) operand.bits = ~std::uint64_t{0} >> 1;
        break;
      case Opcode::scale: {
        const Int128 scaled = Int128{integer} * how.left_factor;
        operand.bits = static_cast<std::uint64_t>(scaled);
        failed = Int128{static_cast<std::int64_t>(operand.bits)} != scaled;
        break;
      }
      case Opcode::square_root: operand.bits = detail::bits_of(sqrt(x)); break;
      case Opcode::round_down: operand.bits = detail::bits_of(floor(x)); break;
      case Opcode::round_up: operand.bits = detail::bits_of(ceil(x)); break;
      case Opcode::absolute:
        if (how.left == Number::float64) {
          operand.bits &= ~std::uint64_t{0} >> 1;
        } else if (integer < 0) {
          operand.bits = std::uint64_t{0} - operand.bits;
          failed = static_cast<std::int64_t>(operand.bits) < 0;
        }
        break;
      default:  // negate
        if (how.left == Number::float64) {
          operand.bits ^= std::uint64_t{1} << 63;
        } else {
          const Int128 negated = -detail::as_integer(how.left, operand.bits);
          operand.bits = static_cast<std::uint64_t>(negated);
          failed = Int128{static_cast<std::int64_t>(operand.bits)} != negated;
        }
    }
    operand.failed |= failed && operand.valid;
    return operand;
  }

  SKYRANK_HD static RowValue arithmetic(const Instruction& how, RowValue a, RowValue b) {
    RowValue result{0, a.valid && b.valid, a.failed || b.failed};
    if (how.left == Number::float64) {
      result.bits = detail::bits_of(detail::calculated(how.op, detail::as_double(a.bits), detail::as_double(b.bits)));
    } else {
      bool failed = false;
      result.bits = detail::calculated(how.op, how.left, a.bits, how.right, b.bits, failed);
      failed |= how.flag && !detail::is_date(result.bits);
      result.failed |= failed && result.valid;
    }
    return result;
  }

  SKYRANK_HD static RowValue extremum(const Instruction& how, RowValue a, RowValue b) {
    const bool minimum = how.op == Opcode::lesser;
    const detail::Order order = minimum ? detail::order_of(how.left, b.bits, how.left, a.bits)
                                        : detail::order_of(how.left, a.bits, how.left, b.bits);
    const double second = detail::as_double(b.bits);
    const bool replaces = order.less || (how.left == Number::float64 && second != second);
    return {replaces ? b.bits : a.bits, a.valid && b.valid, a.failed || b.failed};
  }

  SKYRANK_HD static RowValue compare(const Instruction& how, RowValue a, RowValue b) {
    const bool truth =
        detail::compared(how.op, how, how.left, a.bits, how.left_factor, how.right, b.bits, how.right_factor);
    return {truth ? std::uint64_t{1} : 0, a.valid && b.valid, a.failed || b.failed};
  }

  SKYRANK_HD static RowValue between(const Instruction& how, RowValue value, RowValue lower, RowValue upper) {
    const bool above = detail::compared(Opcode::less_equal, how, how.middle, lower.bits, how.middle_factor, how.left,
                                        value.bits, how.left_factor);
    const bool below = detail::compared(Opcode::less_equal, how, how.left, value.bits, how.left_factor, how.right,
                                        upper.bits, how.right_factor);
    RowValue result = combined(false, {above ? std::uint64_t{1} : 0, value.valid && lower.valid, false},
                               {below ? std::uint64_t{1} : 0, value.valid && upper.valid, false});
    result.bits ^= how.flag ? 1 : 0;
    result.failed = value.failed || lower.failed || upper.failed;
    return result;
  }

  SKYRANK_HD static RowValue member(const Instruction& how, RowValue operand) {
    const auto* const members = static_cast<const std::uint64_t*>(how.table);
    const double x = detail::as_double(operand.bits);
    // Zeros of both signs are one member.
    const std::uint64_t value = how.left == Number::float64 && x == 0 ? 0 : operand.bits;
    std::uint32_t begin = 0;
    std::uint32_t end = how.count;
    while (begin < end) {
      const std::uint32_t middle = (begin + end) / 2;
      if (members[middle] < value) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    const bool found = begin < how.count && members[begin] == value;
    // A value that is not found might equal the NULL.
    return {static_cast<std::uint64_t>(found != how.flag), operand.valid && (found || !how.has_null), operand.failed};
  }

  /// Kleene's logic: false decides `and`, true decides `or`, even beside NULL.
  SKYRANK_HD static RowValue combined(bool is_or, RowValue a, RowValue b) {
    const std::uint64_t deciding = is_or ? 1 : 0;
    const bool decides_a = a.valid && a.bits == deciding;
    const bool decides_b = b.valid && b.bits == deciding;
    const bool decided = decides_a || decides_b;
    return {decided ? deciding : deciding ^ 1, (a.valid && b.valid) || decided, a.failed || (b.failed && !decides_a)};
  }

  SKYRANK_HD void choose(unsigned count) {
    depth_ -= count;
    RowValue chosen{0, false, false};
    bool failed = false;
    bool open = true;
    for (unsigned i = 0; i < count && open; i += 2) {
      const bool is_else = i + 1 == count;
      if (!is_else) {
        const RowValue condition = at(depth_ + i);
        failed |= condition.failed;
        if (!condition.valid || condition.bits == 0) continue;
      }
      chosen = at(depth_ + (is_else ? i : i + 1));
      open = false;
    }
    chosen.failed |= failed;
    push(chosen);
  }

  std::uint64_t* slots_;
  std::size_t stride_;
  unsigned depth_ = 0;
  std::uint64_t valid_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace skyrank::kernels
