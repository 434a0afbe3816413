#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/expression/interpreter.hpp"
#include "engine/expression/numeric.hpp"
#include "engine/text.hpp"

// Loops of arithmetic and of functions on numbers. Integer loops run without branches: each step ors "it failed" into
// the top bit of a flag, and only where that is set a second pass looks for the lowest row at fault.
namespace skyrank::exec {

using query::Op;

namespace {

constexpr std::uint64_t kHighestInt64 = std::numeric_limits<std::int64_t>::max();

constexpr std::uint64_t top_bit(bool on) { return static_cast<std::uint64_t>(on) << 63; }

/// The int64 of an exact result; sets the top bit of `failed` when there is none.
std::int64_t fit(int128 value, std::uint64_t& failed) {
  const auto narrow = static_cast<std::int64_t>(value);
  failed |= top_bit(narrow != value);
  return narrow;
}

// Each operator: for two int64, two uint64, two doubles, and one of each integer type.

struct Add {
  static std::int64_t apply(std::int64_t a, std::int64_t b, std::uint64_t& failed) {
    const auto r = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    failed |= static_cast<std::uint64_t>((a ^ r) & (b ^ r));
    return r;
  }
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b, std::uint64_t& failed) {
    const std::uint64_t r = a + b;
    failed |= (a & b) | ((a | b) & ~r);  // the carry out of the top bit
    return r;
  }
  static double apply(double a, double b, std::uint64_t&) { return a + b; }
  static int128 exact(int128 a, int128 b) { return a + b; }
};

struct Subtract {
  static std::int64_t apply(std::int64_t a, std::int64_t b, std::uint64_t& failed) {
    const auto r = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
    failed |= static_cast<std::uint64_t>((a ^ b) & (a ^ r));
    return r;
  }
  /// A difference may be negative, whatever its operands are.
  static std::int64_t apply(std::uint64_t a, std::uint64_t b, std::uint64_t& failed) {
    return fit(int128{a} - int128{b}, failed);
  }
  static double apply(double a, double b, std::uint64_t&) { return a - b; }
  static int128 exact(int128 a, int128 b) { return a - b; }
};

struct Multiply {
  template <class Integer>
  static Integer apply(Integer a, Integer b, std::uint64_t& failed) {
    Integer r;
    failed |= top_bit(__builtin_mul_overflow(a, b, &r));
    return r;
  }
  static double apply(double a, double b, std::uint64_t&) { return a * b; }
  static int128 exact(int128 a, int128 b) { return a * b; }
};

struct Divide {
  static std::int64_t apply(std::int64_t a, std::int64_t b, std::uint64_t& failed) {
    const bool impossible = b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1);
    failed |= top_bit(impossible);
    return impossible ? 0 : a / b;
  }
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b, std::uint64_t& failed) {
    failed |= top_bit(b == 0);
    return b == 0 ? 0 : a / b;
  }
  static double apply(double a, double b, std::uint64_t&) { return a / b; }
  static int128 exact(int128 a, int128 b) { return a / b; }
};

struct Modulo {
  static std::int64_t apply(std::int64_t a, std::int64_t b, std::uint64_t& failed) {
    failed |= top_bit(b == 0);
    return b == 0 || b == -1 ? 0 : a % b;  // the lowest int64 % -1 is 0, but traps
  }
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b, std::uint64_t& failed) {
    failed |= top_bit(b == 0);
    return b == 0 ? 0 : a % b;
  }
  static double apply(double a, double b, std::uint64_t&) { return std::fmod(a, b); }
  static int128 exact(int128 a, int128 b) { return a % b; }
};

template <class Operator>
constexpr bool kDivides = std::is_same_v<Operator, Divide> || std::is_same_v<Operator, Modulo>;

template <class Operator, class A, class B>
auto apply_operator(A a, B b, std::uint64_t& failed) {
  if constexpr (std::is_same_v<A, B>) {
    return Operator::apply(a, b, failed);
  } else {
    if constexpr (kDivides<Operator>) {
      failed |= top_bit(b == 0);
      if (b == 0) return std::int64_t{0};
    }
    return fit(Operator::exact(a, b), failed);
  }
}

std::string text_of(double value, DataType) { return format_number(value); }
std::string text_of(std::uint64_t value, DataType) { return std::to_string(value); }
std::string text_of(std::int64_t value, DataType type) {
  if (type.type == Type::timestamp) return to_string(Value(Timestamp{value, type.unit}));
  if (type.type == Type::date) return to_string(Value(Date{static_cast<std::int32_t>(value)}));
  return std::to_string(value);
}

/// The message of a failed operation: what was computed, and what would have been right.
template <class A, class B>
std::string describe(std::string_view symbol, A a, DataType type_a, B b, DataType type_b, DataType result,
                     bool divides) {
  std::string operation = text_of(a, type_a);
  operation.append(" ").append(symbol).append(" ").append(text_of(b, type_b));
  if (divides && b == B{}) {
    return "division of an integer by zero: " + operation + "; guard it with 'case when', or divide by a float";
  }
  std::string message = result.type == Type::date ? "date overflow: " : "integer overflow: ";
  message += operation;
  message += " does not fit " + to_string(result);
  if (result.type != Type::date) message += "; with a float operand it would be computed as float64";
  return message;
}

template <class F>
void with_operator(Op op, F&& f) {
  switch (op) {
    case Op::add: return f(Add{});
    case Op::subtract: return f(Subtract{});
    case Op::multiply: return f(Multiply{});
    case Op::divide: return f(Divide{});
    default: return f(Modulo{});
  }
}

/// Calls `f(T{}, U{})` with the types that hold the operands: the same, or int64 with uint64.
template <class F>
void with_operand_types(Type a, Type b, F&& f) {
  if (a == Type::float64) return f(double{}, double{});
  if (a == Type::uint64)
    return b == Type::uint64 ? f(std::uint64_t{}, std::uint64_t{}) : f(std::uint64_t{}, std::int64_t{});
  return b == Type::uint64 ? f(std::int64_t{}, std::uint64_t{}) : f(std::int64_t{}, std::int64_t{});
}

/// Stores `f(i, failed)` of every row; the top bit of what it returns is set if any failed.
template <class Out, class F>
std::uint64_t apply_rows(Out* out, std::int64_t size, const F f) {
  std::uint64_t failed = 0;
  set_rows(out, size, [f, &failed](std::int64_t i) { return f(i, failed); });
  return failed;
}

/// `f(x, failed)` for every value; whether any failed.
template <class T, class Out, class F>
bool apply_unary(const Vec& in, std::int64_t size, Out* out, F f) {
  const T* values = in.as<T>();
  return (apply_rows(out, size, [=](std::int64_t i, std::uint64_t& failed) { return f(values[i], failed); }) >> 63) !=
         0;
}

bool fits_date(std::int64_t days) {
  using Days = std::numeric_limits<std::int32_t>;
  return days >= Days::min() && days <= Days::max();
}

/// The dates of an operation before they are known to be in range.
const std::int64_t* days_of(const Vec& out) { return out.as<std::int64_t>(); }

}  // namespace

Vec Interpreter::arithmetic(const Operation& operation, std::span<Vec> operands, Active active) {
  if (is_decimal(operation.type.type)) return decimal_arithmetic(operation, operands, active);
  Vec& a = operands[0];
  Vec& b = operands[1];
  if (operation.type.type == Type::float64) {
    a = convert(std::move(a), Type::float64, active);
    b = convert(std::move(b), Type::float64, active);
  } else if (a.type.type == Type::timestamp && a.type != b.type) {
    return subtract_times(operation, std::move(a), std::move(b), active);
  }
  if (a.constant && b.constant) a = spread(std::move(a), size_);
  Vec out = fresh(operation.type);
  intersect_validity(size_, out, a, b);
  std::uint64_t failed = 0;
  with_operator(operation.op, [&]<class Operator>(Operator) {
    with_operand_types(a.type.type, b.type.type, [&]<class A, class B>(A, B) {
      with_values<A>(a, [&](auto left) {
        with_values<B>(b, [&](auto right) {
          using Result = decltype(apply_operator<Operator>(A{}, B{}, failed));
          auto* values = out.values.as<Result>();
          failed = apply_rows(values, size_, [=](std::int64_t i, std::uint64_t& flag) {
            return apply_operator<Operator>(left[i], right[i], flag);
          });
        });
      });
    });
  });
  const bool is_date = operation.type.type == Type::date;
  if ((failed >> 63) != 0 || (is_date && !std::all_of(days_of(out), days_of(out) + size_, fits_date))) {
    record_arithmetic_failure(operation, spread(std::move(a), size_), spread(std::move(b), size_), out, active);
  }
  return out;
}

void Interpreter::record_arithmetic_failure(const Operation& operation, const Vec& a, const Vec& b, const Vec& out,
                                            Active active) {
  const bool is_date = operation.type.type == Type::date;
  with_operator(operation.op, [&]<class Operator>(Operator) {
    with_operand_types(a.type.type, b.type.type, [&]<class A, class B>(A, B) {
      const A* left = a.as<A>();
      const B* right = b.as<B>();
      const auto fails = [&](std::int64_t i) {
        std::uint64_t flag = 0;
        apply_operator<Operator>(left[i], right[i], flag);
        return (flag >> 63) != 0 || (is_date && !fits_date(days_of(out)[i]));
      };
      record_failure(out.valid, active, fails, [&](std::int64_t i) {
        return describe(query::spelling(operation.op), left[i], a.type, right[i], b.type, operation.type,
                        kDivides<Operator>);
      });
    });
  });
}

/// The difference of timestamps of two units in ticks of the finer one. A difference may fit where an operand does not.
Vec Interpreter::subtract_times(const Operation& operation, Vec a, Vec b, Active active) {
  const DataType finer(Type::timestamp, std::max(a.type.unit, b.type.unit));
  const std::int64_t factor_a = nanoseconds_per_tick(a.type) / nanoseconds_per_tick(finer);
  const std::int64_t factor_b = nanoseconds_per_tick(b.type) / nanoseconds_per_tick(finer);
  a = spread(std::move(a), size_);
  b = spread(std::move(b), size_);
  const auto* left = a.as<std::int64_t>();
  const auto* right = b.as<std::int64_t>();
  const DataType type_a = a.type;
  const DataType type_b = b.type;
  const auto difference = [=](std::int64_t i, std::uint64_t& failed) {
    return fit(int128{left[i]} * factor_a - int128{right[i]} * factor_b, failed);
  };
  Vec out = fresh(operation.type);
  auto* values = out.values.as<std::int64_t>();
  const std::uint64_t failed = apply_rows(values, size_, difference);
  intersect_validity(size_, out, a, b);
  if ((failed >> 63) == 0) return out;
  const auto fails = [&](std::int64_t i) {
    std::uint64_t flag = 0;
    difference(i, flag);
    return (flag >> 63) != 0;
  };
  record_failure(out.valid, active, fails, [&](std::int64_t i) {
    return "time overflow: " + text_of(left[i], type_a) + " - " + text_of(right[i], type_b) +
           " does not fit int64 in ticks of " + to_string(finer);
  });
  return out;
}

Vec Interpreter::convert(Vec vec, DataType type, Active active, Excess excess) {
  if (vec.type == type) return vec;
  if (is_decimal(type.type)) return to_decimal(std::move(vec), type, active);
  if (is_decimal(vec.type.type)) return decimal_to_float(std::move(vec));
  Vec out = fresh(type);
  out.constant = vec.constant;
  const std::int64_t count = vec.constant ? 1 : size_;
  const auto at = [&](std::int64_t i) { return vec.constant ? 0 : i; };
  bool failed = false;
  std::int64_t factor = 1;
  const auto scaled = [&factor, excess](std::int64_t value, std::uint64_t& flag) {
    std::uint64_t over = 0;
    const std::int64_t product = Multiply::apply(value, factor, over);
    if (over == 0) return product;
    if (excess != (value > 0 ? Excess::saturates_above : Excess::saturates_below)) flag |= over;
    return value > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
  };
  if (type.type == Type::float64) {
    with_evaluation_type(vec.type.type, [&]<class T>(T) {
      if constexpr (std::is_arithmetic_v<T>) {
        apply_unary<T>(vec, count, out.values.as<double>(),
                       [](T value, std::uint64_t&) { return static_cast<double>(value); });
      }
    });
  } else if (vec.type.type == Type::uint64) {
    failed = apply_unary<std::uint64_t>(vec, count, out.values.as<std::int64_t>(),
                                        [](std::uint64_t value, std::uint64_t& flag) {
                                          flag |= value;
                                          return static_cast<std::int64_t>(std::min(value, kHighestInt64));
                                        });
  } else {
    factor = nanoseconds_per_tick(vec.type) / nanoseconds_per_tick(type);
    failed = apply_unary<std::int64_t>(vec, count, out.values.as<std::int64_t>(), scaled);
  }
  const bool number = vec.type.type == Type::uint64;
  if (failed && (!number || excess != Excess::saturates_above)) {
    record_failure(
        vec.valid, active,
        [&](std::int64_t i) {
          std::uint64_t flag = number ? vec.as<std::uint64_t>()[at(i)] : 0;
          if (!number) scaled(vec.as<std::int64_t>()[at(i)], flag);
          return (flag >> 63) != 0;
        },
        [&](std::int64_t i) {
          const std::string value = number ? std::to_string(vec.as<std::uint64_t>()[at(i)])
                                           : text_of(vec.as<std::int64_t>()[at(i)], vec.type);
          return (number ? "integer overflow: " : "time overflow: ") + value + " does not fit " + to_string(type);
        });
  }
  take_validity(out, vec);
  return out;
}

Vec Interpreter::unary(const Operation& operation, Vec in, Active active) {
  in = spread(std::move(in), size_);
  if (is_decimal(operation.type.type)) return decimal_unary(operation, std::move(in), active);
  const Op op = operation.op;
  const bool rounds = op == Op::floor || op == Op::ceil || op == Op::round;
  const bool integer = in.type.type != Type::float64;
  if (integer && (rounds || (op == Op::abs && in.type.type == Type::uint64))) return in;
  if (integer && operation.type.type == Type::float64) {
    in = convert(std::move(in), Type::float64, active);
  }
  Vec out = fresh(operation.type);
  const auto reals = [&](auto f) {
    apply_unary<double>(in, size_, out.values.as<double>(), [f](double x, std::uint64_t&) { return f(x); });
    return false;
  };
  const auto ints = [&]<class T>(T, auto f) { return apply_unary<T>(in, size_, out.values.as<std::int64_t>(), f); };
  const auto negated_int = [](std::int64_t x, std::uint64_t& flag) {
    return Subtract::apply(std::int64_t{0}, x, flag);
  };
  const auto negated_uint = [](std::uint64_t x, std::uint64_t& flag) { return fit(-int128{x}, flag); };
  const auto absolute = [](std::int64_t x, std::uint64_t& flag) {
    const auto sign = static_cast<std::uint64_t>(x >> 63);
    const auto r = (static_cast<std::uint64_t>(x) ^ sign) - sign;
    flag |= r;
    return static_cast<std::int64_t>(r);
  };
  bool failed = false;
  switch (op) {
    case Op::sqrt: failed = reals([](double x) { return std::sqrt(x); }); break;
    case Op::log: failed = reals([](double x) { return std::log(x); }); break;
    case Op::exp: failed = reals([](double x) { return std::exp(x); }); break;
    case Op::floor: failed = reals([](double x) { return std::floor(x); }); break;
    case Op::ceil: failed = reals([](double x) { return std::ceil(x); }); break;
    case Op::round: failed = reals([](double x) { return std::round(x); }); break;
    case Op::abs:
      failed = integer ? ints(std::int64_t{}, absolute) : reals([](double x) { return std::abs(x); });
      break;
    default:
      if (!integer) {
        failed = reals([](double x) { return -x; });
      } else {
        failed = in.type.type == Type::uint64 ? ints(std::uint64_t{}, negated_uint) : ints(std::int64_t{}, negated_int);
      }
  }
  if (failed) {
    const bool is_unsigned = in.type.type == Type::uint64;
    constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
    record_failure(
        in.valid, active,
        [&](std::int64_t i) {
          return is_unsigned ? in.as<std::uint64_t>()[i] > std::uint64_t{1} << 63 : in.as<std::int64_t>()[i] == kLowest;
        },
        [&](std::int64_t i) {
          const std::string value =
              is_unsigned ? std::to_string(in.as<std::uint64_t>()[i]) : std::to_string(in.as<std::int64_t>()[i]);
          return "integer overflow: " + (op == Op::abs ? "abs(" + value + ")" : "-(" + value + ")") +
                 " does not fit int64; with a float operand it would be computed as float64";
        });
  }
  take_validity(out, in);
  return out;
}

Vec Interpreter::extremum(const Operation& operation, std::span<Vec> operands, Active active) {
  const bool minimum = operation.op == Op::min;
  // Some operand has the result's type, so a minimum is never above the highest value of that type, nor a maximum below
  // the lowest: an operand that is may count as that.
  const Excess excess = minimum ? Excess::saturates_above : Excess::saturates_below;
  Buffer scratch = pool_.take();
  const Active needed = all_present(operands, active, scratch);
  for (Vec& operand : operands) {
    operand = spread(convert(std::move(operand), operation.type, needed, excess), size_);
  }
  Vec best = std::move(operands.front());
  for (std::size_t i = 1; i < operands.size(); ++i) {
    Vec& next = operands[i];
    Vec out = fresh(operation.type);
    with_evaluation_type(operation.type.type, [&]<class T>(T) {
      const T* a = best.as<T>();
      const T* b = next.as<T>();
      T* values = out.values.as<T>();
      set_rows(values, size_, [=](std::int64_t row) {
        // The first of equal values (zeros of both signs) stays; so does NaN.
        bool replaces = minimum ? b[row] < a[row] : a[row] < b[row];
        if constexpr (std::is_same_v<T, double>) replaces = replaces || std::isnan(b[row]);
        return replaces ? b[row] : a[row];
      });
    });
    intersect_validity(size_, out, best, next);
    best = std::move(out);
  }
  return best;
}

}  // namespace skyrank::exec
