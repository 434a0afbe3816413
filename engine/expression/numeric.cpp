#include "engine/expression/numeric.hpp"

#include <limits>
#include <string>
#include <type_traits>
#include <variant>

#include "engine/decimal.hpp"

namespace skyrank::exec {
namespace {

/// A number as another type, where that type holds it.
template <class To, class From>
std::optional<Value> exact_number(From value) {
  if constexpr (std::is_same_v<To, double>) {
    const auto converted = static_cast<double>(value);
    if constexpr (std::is_same_v<From, double>) return converted;
    if (is_eq(order(value, converted))) return converted;
    return std::nullopt;
  } else {
    if (is_lt(order(value, std::numeric_limits<To>::min())) || is_gt(order(value, std::numeric_limits<To>::max()))) {
      return std::nullopt;
    }
    const auto converted = static_cast<To>(value);
    if (is_eq(order(value, converted))) return converted;
    return std::nullopt;
  }
}

template <class From>
std::optional<Value> to_number(From value, Type type) {
  if constexpr (std::is_same_v<From, double>) {
    if (std::isnan(value)) return type == Type::float64 ? std::optional<Value>(value) : std::nullopt;
  }
  switch (type) {
    case Type::int64: return exact_number<std::int64_t>(value);
    case Type::uint64: return exact_number<std::uint64_t>(value);
    case Type::float64: return exact_number<double>(value);
    default: return std::nullopt;
  }
}

/// A number as a decimal, where the storage of that type holds it at its scale.
std::optional<Value> to_decimal(std::optional<Decimal> value, DataType type) {
  const std::optional<Int128> scaled = value ? rescaled(*value, type.scale) : std::nullopt;
  if (!scaled) return std::nullopt;
  const bool fits = type.type == Type::decimal128 || *scaled == static_cast<std::int64_t>(*scaled);
  return fits ? std::optional<Value>(Decimal{*scaled, type.scale}) : std::nullopt;
}

template <class Integer>
std::optional<Value> from_integer(Integer value, DataType type) {
  return is_decimal(type.type) ? to_decimal(Decimal{static_cast<Int128>(value), 0}, type) : to_number(value, type.type);
}

std::optional<Value> from_decimal(Decimal value, DataType type) {
  if (is_decimal(type.type)) return to_decimal(value, type);
  if (type.type == Type::float64) {
    const double number = to_double(value);
    return is_eq(order(value, number)) ? std::optional<Value>(number) : std::nullopt;
  }
  const std::optional<Int128> whole = rescaled(value, 0);
  if (!whole) return std::nullopt;
  if (type.type == Type::int64 && *whole == static_cast<std::int64_t>(*whole)) {
    return static_cast<std::int64_t>(*whole);
  }
  if (type.type == Type::uint64 && *whole == static_cast<Int128>(static_cast<std::uint64_t>(*whole))) {
    return static_cast<std::uint64_t>(*whole);
  }
  return std::nullopt;
}

std::optional<Value> to_time(std::int64_t ticks, DataType from, DataType to) {
  if (!is_temporal(to.type)) return std::nullopt;
  const int128 time = nanoseconds(ticks, from);
  const std::int64_t tick = nanoseconds_per_tick(to);
  if (time % tick != 0) return std::nullopt;
  const int128 converted = time / tick;
  if (to.type == Type::date) {
    using Days = std::numeric_limits<std::int32_t>;
    if (converted < Days::min() || converted > Days::max()) return std::nullopt;
    return Date{static_cast<std::int32_t>(converted)};
  }
  using Ticks = std::numeric_limits<std::int64_t>;
  if (converted < Ticks::min() || converted > Ticks::max()) return std::nullopt;
  return Timestamp{static_cast<std::int64_t>(converted), to.unit};
}

}  // namespace

std::optional<Value> convert_exactly(const Value& value, DataType type) {
  struct Visitor {
    DataType type;

    std::optional<Value> operator()(Null) const { return Null{}; }
    std::optional<Value> operator()(bool v) const {
      return type.type == Type::boolean ? std::optional<Value>(v) : std::nullopt;
    }
    std::optional<Value> operator()(std::int64_t v) const { return from_integer(v, type); }
    std::optional<Value> operator()(std::uint64_t v) const { return from_integer(v, type); }
    std::optional<Value> operator()(double v) const {
      return is_decimal(type.type) ? to_decimal(exact_decimal(v, type.scale), type) : to_number(v, type.type);
    }
    std::optional<Value> operator()(Decimal v) const { return from_decimal(v, type); }
    std::optional<Value> operator()(Date v) const { return to_time(v.days, Type::date, type); }
    std::optional<Value> operator()(Timestamp v) const {
      return to_time(v.ticks, DataType(Type::timestamp, v.unit), type);
    }
    std::optional<Value> operator()(const std::string& v) const {
      return type.type == Type::string ? std::optional<Value>(v) : std::nullopt;
    }
  };
  return std::visit(Visitor{type}, value);
}

}  // namespace skyrank::exec
