#include "engine/exec/numeric.hpp"

#include <limits>
#include <string>
#include <type_traits>
#include <variant>

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
    std::optional<Value> operator()(std::int64_t v) const { return to_number(v, type.type); }
    std::optional<Value> operator()(std::uint64_t v) const { return to_number(v, type.type); }
    std::optional<Value> operator()(double v) const { return to_number(v, type.type); }
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
