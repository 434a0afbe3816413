#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "engine/python/src/bind.hpp"

namespace skyrank::python {
namespace {

Value integer_value(nb::handle object) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow == 0) return std::int64_t{value};
  if (overflow > 0) {
    const unsigned long long wide = PyLong_AsUnsignedLongLong(object.ptr());
    if (PyErr_Occurred() == nullptr) return std::uint64_t{wide};
    PyErr_Clear();
  }
  throw QueryError("the integer " + std::string(nb::str(object).c_str()) + " does not fit into 64 bits");
}

/// Reads the text of a decimal without an exponent, such as "-12.50".
Value decimal_value(const std::string& text) {
  Decimal decimal;
  int digits = 0;
  bool negative = false;
  bool behind_point = false;
  for (const char c : text) {
    if (c == '-') {
      negative = true;
    } else if (c == '.') {
      behind_point = true;
    } else {
      if (decimal.unscaled != 0 || c != '0') ++digits;
      if (digits > kMaxDigits128 || decimal.scale >= kMaxDigits128) {
        throw QueryError("the decimal " + text + " has more than 38 digits");
      }
      decimal.unscaled = decimal.unscaled * 10 + (c - '0');
      if (behind_point) ++decimal.scale;
    }
  }
  if (negative) decimal.unscaled = -decimal.unscaled;
  return decimal;
}

TimeUnit parse_unit(const std::string& text) {
  if (text == "s") return TimeUnit::second;
  if (text == "ms") return TimeUnit::millisecond;
  if (text == "us") return TimeUnit::microsecond;
  if (text == "ns") return TimeUnit::nanosecond;
  throw nb::value_error(("no unit of timestamps: '" + text + "'; the units are s, ms, us, ns").c_str());
}

Value tuple_value(const nb::tuple& tuple) {
  const auto kind = nb::cast<std::string>(tuple[0]);
  if (kind == "date") return Date{nb::cast<std::int32_t>(tuple[1])};
  if (kind == "timestamp") {
    return Timestamp{nb::cast<std::int64_t>(tuple[1]), parse_unit(nb::cast<std::string>(tuple[2]))};
  }
  return decimal_value(nb::cast<std::string>(tuple[1]));
}

}  // namespace

Value to_value(nb::handle object) {
  if (object.is_none()) return Null{};
  if (PyBool_Check(object.ptr())) return object.ptr() == Py_True;
  if (nb::isinstance<nb::int_>(object)) return integer_value(object);
  if (nb::isinstance<nb::float_>(object)) return nb::cast<double>(object);
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  return tuple_value(nb::cast<nb::tuple>(object));
}

std::string to_python_text(const Value& value) {
  if (std::holds_alternative<Null>(value)) return "None";
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const auto* text = std::get_if<std::string>(&value))
    return nb::repr(nb::str(text->c_str(), text->size())).c_str();
  return to_string(value);
}

std::chrono::milliseconds to_time_limit(double seconds) {
  constexpr double kMaxSeconds = 1e9;  // about 30 years; clocks count in nanoseconds and end at 292
  if (!(seconds > 0 && seconds < kMaxSeconds)) throw QueryError("a time limit is above 0 and below 10^9 seconds");
  return std::chrono::milliseconds(std::max<std::int64_t>(std::llround(seconds * 1000), 1));
}

DataType parse_type(const std::string& text) {
  static const std::pair<const char*, Type> kTypes[] = {
      {"bool", Type::boolean},  {"int8", Type::int8},       {"int16", Type::int16},     {"int32", Type::int32},
      {"int64", Type::int64},   {"uint8", Type::uint8},     {"uint16", Type::uint16},   {"uint32", Type::uint32},
      {"uint64", Type::uint64}, {"float16", Type::float16}, {"float32", Type::float32}, {"float64", Type::float64},
      {"date", Type::date},
  };
  for (const auto& [name, type] : kTypes) {
    if (text == name) return type;
  }
  if (text.starts_with("timestamp[") && text.ends_with("]")) {
    return {Type::timestamp, parse_unit(text.substr(10, text.size() - 11))};
  }
  throw nb::value_error(("no type of columns: '" + text + "'").c_str());
}

}  // namespace skyrank::python
