#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "engine/decimal.hpp"
#include "engine/expression/interpreter.hpp"
#include "engine/expression/numeric.hpp"

// Arithmetic on decimals. Operands are brought to Int128 at the scale that the operation needs, results to the storage
// of their type. A result of more than 38 digits fails.
namespace skyrank::exec {

using query::Op;

namespace {

template <class T>
constexpr bool kExact =
    std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t> || std::is_same_v<T, Int128>;

int scale_of(DataType type) { return is_decimal(type.type) ? type.scale : 0; }

DataType widest_decimal(int scale) { return DataType::decimal(kMaxDigits128, scale); }

bool has_38_digits(Int128 value) {
  static const Int128 limit = power_of_ten(kMaxDigits128 - 1) * 10;
  return value > -limit && value < limit;
}

/// Stores an exact result; returns false where T does not hold it.
template <class T>
bool store(Int128 value, T& out) {
  out = static_cast<T>(value);
  if constexpr (std::is_same_v<T, Int128>) return has_38_digits(value);
  return out == value;
}

/// Calls `f` with the values of a type that is no float, as a pointer.
template <class F>
void with_exact_values(const Vec& vec, F&& f) {
  with_evaluation_type(vec.type.type, [&]<class T>(T) {
    if constexpr (kExact<T>) f(vec.as<T>());
  });
}

/// Each operator returns false where 128 bits do not hold its result.
struct Add {
  static bool apply(Int128 a, Int128 b, Int128& out) { return !__builtin_add_overflow(a, b, &out); }
};
struct Subtract {
  static bool apply(Int128 a, Int128 b, Int128& out) { return !__builtin_sub_overflow(a, b, &out); }
};
struct Multiply {
  static bool apply(Int128 a, Int128 b, Int128& out) { return !__builtin_mul_overflow(a, b, &out); }
};
struct Modulo {
  static bool apply(Int128 a, Int128 b, Int128& out) {
    out = b == 0 || b == -1 ? 0 : a % b;  // the lowest Int128 % -1 is 0, but traps
    return b != 0;
  }
};

template <class F>
void with_operator(Op op, F&& f) {
  switch (op) {
    case Op::add: return f(Add{});
    case Op::subtract: return f(Subtract{});
    case Op::multiply: return f(Multiply{});
    default: return f(Modulo{});
  }
}

template <class Operator>
bool apply_operator(Int128 a, Int128 b, Int128& out) {
  return Operator::apply(a, b, out) && has_38_digits(out);
}

std::string too_long(const std::string& operation, DataType type) {
  return "decimal overflow: " + operation + " does not fit " + to_string(type);
}

Int128 floor_of(Int128 value, Int128 unit) { return value / unit - (value % unit < 0 ? 1 : 0); }

/// The nearest whole number; of two, that farther from zero.
Int128 round_of(Int128 value, Int128 unit) {
  const Int128 half = unit / 2;
  return (value < 0 ? value - half : value + half) / unit;
}

/// negate, abs, floor, ceil or round of a decimal whose unit is `unit`; false on overflow.
bool apply_unary(Op op, Int128 value, Int128 unit, Int128& out) {
  switch (op) {
    case Op::floor: out = floor_of(value, unit); return true;
    case Op::ceil: out = floor_of(value, unit) + (value % unit != 0 ? 1 : 0); return true;
    case Op::round: out = round_of(value, unit); return true;
    case Op::abs:
      if (value >= 0) {
        out = value;
        return true;
      }
      [[fallthrough]];
    default: return Subtract::apply(0, value, out);
  }
}

}  // namespace

Vec Interpreter::to_decimal(Vec vec, DataType type, Active active) {
  if (vec.type.type == type.type && vec.type.scale == type.scale) {
    vec.type = type;
    return vec;
  }
  const DataType from = vec.type;
  const Int128 factor = power_of_ten(type.scale - scale_of(from));
  Vec out = fresh(type);
  out.constant = vec.constant;
  const std::int64_t count = vec.constant ? 1 : size_;
  with_exact_values(vec, [&]<class From>(const From* values) {
    with_evaluation_type(type.type, [&]<class To>(To) {
      if constexpr (std::is_same_v<To, std::int64_t> || std::is_same_v<To, Int128>) {
        const auto convert = [&](std::int64_t i, To& to) {
          Int128 scaled = 0;
          const bool fits = Multiply::apply(static_cast<Int128>(values[i]), factor, scaled);
          return store(scaled, to) && fits;
        };
        bool fits = true;
        for (std::int64_t i = 0; i < count; ++i) fits &= convert(i, out.values.as<To>()[i]);
        if (fits) return;
        const auto at = [&](std::int64_t i) { return vec.constant ? 0 : i; };
        record_failure(
            vec.valid, active,
            [&](std::int64_t i) {
              To ignored{};
              return !convert(at(i), ignored);
            },
            [&](std::int64_t i) {
              return too_long(format_decimal({static_cast<Int128>(values[at(i)]), scale_of(from)}), type);
            });
      }
    });
  });
  take_validity(out, vec);
  return out;
}

Vec Interpreter::decimal_to_float(Vec vec) {
  Vec out = fresh(Type::float64);
  out.constant = vec.constant;
  const int scale = vec.type.scale;
  with_exact_values(vec, [&](const auto* values) {
    auto* floats = out.values.as<double>();
    for (std::int64_t i = 0; i < (vec.constant ? 1 : size_); ++i) floats[i] = to_double({values[i], scale});
  });
  take_validity(out, vec);
  return out;
}

Vec Interpreter::decimal_arithmetic(const Operation& operation, std::span<Vec> operands, Active active) {
  Vec& a = operands[0];
  Vec& b = operands[1];
  const bool multiplies = operation.op == Op::multiply;
  const int common = std::max(scale_of(a.type), scale_of(b.type));
  Buffer scratch = pool_.take();
  const Active needed = all_present(operands, active, scratch);
  for (Vec& operand : operands) {
    const int scale = multiplies ? scale_of(operand.type) : common;
    operand = spread(to_decimal(std::move(operand), widest_decimal(scale), needed), size_);
  }
  const int scale_a = a.type.scale;
  const int scale_b = b.type.scale;
  Vec out = fresh(widest_decimal(operation.type.scale));
  const auto* left = a.as<Int128>();
  const auto* right = b.as<Int128>();
  auto* values = out.values.as<Int128>();
  intersect_validity(size_, out, a, b);
  with_operator(operation.op, [&]<class Operator>(Operator) {
    bool fits = true;
    for (std::int64_t i = 0; i < size_; ++i) fits &= apply_operator<Operator>(left[i], right[i], values[i]);
    if (fits) return;
    record_failure(
        out.valid, active,
        [&](std::int64_t i) {
          Int128 ignored = 0;
          return !apply_operator<Operator>(left[i], right[i], ignored);
        },
        [&](std::int64_t i) {
          const std::string text = format_decimal({left[i], scale_a}) + " " +
                                   std::string(query::spelling(operation.op)) + " " +
                                   format_decimal({right[i], scale_b});
          if (operation.op == Op::modulo && right[i] == 0) {
            return "division of a decimal by zero: " + text + "; guard it with 'case when', or divide by a float";
          }
          return too_long(text, operation.type);
        });
  });
  return to_decimal(std::move(out), operation.type, needed);
}

Vec Interpreter::decimal_unary(const Operation& operation, Vec in, Active active) {
  const DataType from = in.type;
  const Int128 unit = power_of_ten(from.scale);
  Vec out = fresh(widest_decimal(operation.type.scale));
  auto* results = out.values.as<Int128>();
  with_exact_values(in, [&](const auto* values) {
    bool fits = true;
    for (std::int64_t i = 0; i < size_; ++i) fits &= apply_unary(operation.op, values[i], unit, results[i]);
    if (fits) return;
    record_failure(
        in.valid, active,
        [&](std::int64_t i) {
          Int128 ignored = 0;
          return !apply_unary(operation.op, values[i], unit, ignored);
        },
        [&](std::int64_t i) {
          return too_long(
              std::string(query::spelling(operation.op)) + "(" + format_decimal({values[i], from.scale}) + ")",
              operation.type);
        });
  });
  take_validity(out, in);
  return to_decimal(std::move(out), operation.type, active);
}

}  // namespace skyrank::exec
