#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>

#include "engine/decimal.hpp"
#include "engine/expression/interpreter.hpp"
#include "engine/expression/numeric.hpp"

// Loops of comparison, `between` and `in`.
namespace skyrank::exec {

using query::Op;

namespace {

/// A number that relates to 0 as two values do to each other. Those without an order count as a greater one and a
/// lesser one: of the four relations only `not equal` holds for either.
int sign_of(std::partial_ordering order) { return is_lt(order) ? -1 : is_eq(order) ? 0 : 1; }

template <class F>
void with_relation(Op op, F&& f) {
  switch (op) {
    case Op::equal: return f(std::equal_to<>());
    case Op::not_equal: return f(std::not_equal_to<>());
    case Op::less: return f(std::less<>());
    default: return f(std::less_equal<>());
  }
}

template <class T>
constexpr bool kNumber = std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t> ||
                         std::is_same_v<T, double> || std::is_same_v<T, Int128>;

/// Returns true for a decimal beside a number whose stored form does not compare with that of the decimal.
bool is_mixed_decimal(DataType a, DataType b) {
  if (!is_decimal(a.type) && !is_decimal(b.type)) return false;
  return a.type != b.type || a.scale != b.scale;
}

/// A number of any type as skyrank::order takes it.
double exact_number(double value, DataType) { return value; }
template <class Integer>
Decimal exact_number(Integer value, DataType type) {
  return {static_cast<Int128>(value), is_decimal(type.type) ? type.scale : 0};
}
std::partial_ordering order_numbers(Decimal a, Decimal b) { return order(a, b); }
std::partial_ordering order_numbers(Decimal a, double b) { return order(a, b); }
std::partial_ordering order_numbers(double a, Decimal b) { return 0 <=> order(b, a); }
std::partial_ordering order_numbers(double a, double b) { return a <=> b; }

/// Calls `put(i, order)` with the order of two columns of numbers in each row.
template <class Put>
void order_rows(const Vec& a, const Vec& b, std::int64_t size, Put put) {
  with_evaluation_type(a.type.type, [&]<class A>(A) {
    with_evaluation_type(b.type.type, [&]<class B>(B) {
      if constexpr (kNumber<A> && kNumber<B>) {
        for (std::int64_t i = 0; i < size; ++i) {
          put(i, order_numbers(exact_number(a.as<A>()[i], a.type), exact_number(b.as<B>()[i], b.type)));
        }
      }
    });
  });
}

/// Lists up to this long are searched one by one, in loops the compiler vectorises.
constexpr std::size_t kShortList = 8;

template <class T>
void find_members(const std::vector<T>& members, const T* values, std::int64_t size, std::uint8_t* found) {
  if (members.size() > kShortList) {
    for (std::int64_t i = 0; i < size; ++i) {
      const auto place = std::lower_bound(members.begin(), members.end(), values[i]);
      found[i] = place != members.end() && *place == values[i];  // equality, since NaN is nowhere
    }
    return;
  }
  std::fill_n(found, size, std::uint8_t{0});
  for (const T member : members) {
    for (std::int64_t i = 0; i < size; ++i) found[i] |= static_cast<std::uint8_t>(values[i] == member);
  }
}

}  // namespace

Vec Interpreter::compare(Op op, Vec& a, Vec& b) {
  if (op == Op::greater) return compare(Op::less, b, a);
  if (op == Op::greater_equal) return compare(Op::less_equal, b, a);
  const bool time = is_temporal(a.type.type) && a.type != b.type;
  const bool decimals = is_mixed_decimal(a.type, b.type);
  const bool same = with_evaluation_type(a.type.type, [&]<class A>(A) {
    return with_evaluation_type(b.type.type, []<class B>(B) { return std::is_same_v<A, B>; });
  });
  // Mixed types are rare, since the compiler of expressions brings constants to the other side's type.
  if (time || decimals || !same || (a.constant && b.constant)) {
    a = spread(std::move(a), size_);
    b = spread(std::move(b), size_);
  }
  Vec out = fresh(Type::boolean);
  auto* result = out.values.as<std::uint8_t>();
  with_relation(op, [&](auto relation) {
    if (time) {
      for (std::int64_t i = 0; i < size_; ++i) {
        result[i] =
            relation(nanoseconds(a.as<std::int64_t>()[i], a.type), nanoseconds(b.as<std::int64_t>()[i], b.type));
      }
      return;
    }
    if (decimals) {
      order_rows(a, b, size_,
                 [&](std::int64_t i, std::partial_ordering order) { result[i] = relation(sign_of(order), 0); });
      return;
    }
    with_evaluation_type(a.type.type, [&]<class A>(A) {
      with_evaluation_type(b.type.type, [&]<class B>(B) {
        if constexpr (std::is_same_v<A, B>) {
          with_values<A>(a, [&](auto left) {
            with_values<B>(b, [&](auto right) {
              set_rows(result, size_, [=](std::int64_t i) { return relation(left[i], right[i]); });
            });
          });
        } else if constexpr (kNumber<A> && kNumber<B> && !std::is_same_v<A, Int128> && !std::is_same_v<B, Int128>) {
          for (std::int64_t i = 0; i < size_; ++i) result[i] = relation(sign_of(order(a.as<A>()[i], b.as<B>()[i])), 0);
        }
      });
    });
  });
  return out;
}

Vec Interpreter::comparison(Op op, std::span<Vec> operands) {
  Vec& a = operands[0];
  Vec& b = operands[1];
  Vec out = compare(op, a, b);
  intersect_validity(size_, out, a, b);
  return out;
}

Vec Interpreter::between(const Operation& operation, std::span<Vec> operands) {
  Vec value = spread(std::move(operands[0]), size_);
  Vec& lower = operands[1];
  Vec& upper = operands[2];
  Vec above = compare(Op::greater_equal, value, lower);
  Vec below = compare(Op::less_equal, value, upper);
  Vec value_again = alias(value);
  intersect_validity(size_, above, value_again, lower);
  intersect_validity(size_, below, value, upper);
  Vec out = combine_logic(Op::logical_and, std::move(above), below);
  if (operation.negated) negate_truth(out);
  return out;
}

Vec Interpreter::in_members(const Operation& operation, Vec operand) {
  operand = spread(std::move(operand), size_);
  Vec out = fresh(Type::boolean);
  auto* found = out.values.as<std::uint8_t>();
  std::visit([&]<class T>(const std::vector<T>& members) { find_members(members, operand.as<T>(), size_, found); },
             operation.members->values);
  take_validity(out, operand);
  if (operation.members->has_null) {
    // A value that is not found might equal the NULL.
    const std::uint8_t* present = out.valid;
    Buffer validity = pool_.take();
    auto* valid = validity.as<std::uint8_t>();
    if (present == nullptr) {
      std::copy_n(found, size_, valid);
    } else {
      set_rows(valid, size_, [=](std::int64_t i) { return found[i] & present[i]; });
    }
    out.validity = std::move(validity);
    out.valid = valid;
  }
  if (operation.negated) negate_truth(out);
  return out;
}

Vec Interpreter::in(const Operation& operation, std::span<Vec> operands) {
  Vec out;
  for (std::size_t i = 1; i < operands.size(); ++i) {
    Vec value = alias(operands[0]);
    Vec equal = compare(Op::equal, value, operands[i]);
    intersect_validity(size_, equal, value, operands[i]);
    out = i == 1 ? std::move(equal) : combine_logic(Op::logical_or, std::move(out), equal);
  }
  if (operation.negated) negate_truth(out);
  return out;
}

}  // namespace skyrank::exec
