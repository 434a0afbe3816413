#include "datasets/arrow/text_types.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <arrow/util/value_parsing.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "datasets/input/input.hpp"
#include "engine/decimal.hpp"

namespace skyrank::datasets {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;

/// Zones that timestamps may have.
enum class Zones { none, all, any };

/// Reads texts one by one with `parse`, which returns nothing for a text that is no value.
template <class Builder, class Parse>
ParsedTexts parse_each(const arrow::ChunkedArray& texts, const TypePtr& type, const Parse& parse) {
  arrow::ArrayVector chunks;
  std::int64_t row = 0;
  for (const auto& chunk : texts.chunks()) {
    const auto& strings = static_cast<const arrow::StringArray&>(*chunk);
    Builder builder(type, arrow::default_memory_pool());
    check(builder.Reserve(strings.length()), "text", "values");
    for (std::int64_t i = 0; i < strings.length(); ++i, ++row) {
      if (strings.IsNull(i)) {
        builder.UnsafeAppendNull();
        continue;
      }
      const auto value = parse(std::string_view(strings.GetView(i)));
      if (!value) return {nullptr, row};
      builder.UnsafeAppend(*value);
    }
    auto built = builder.Finish();
    check(built.status(), "text", "values");
    chunks.push_back(*std::move(built));
  }
  return {std::make_shared<arrow::ChunkedArray>(std::move(chunks), type)};
}

template <class Type>
ParsedTexts parse_integers(const arrow::ChunkedArray& texts, const TypePtr& type) {
  return parse_each<arrow::NumericBuilder<Type>>(
      texts, type, [](std::string_view text) { return parse_integer<typename Type::c_type>(trim_blanks(text)); });
}

template <class Type>
std::optional<typename Type::c_type> parse_with_arrow(std::string_view text) {
  typename Type::c_type value{};
  if (!arrow::internal::ParseValue<Type>(text.data(), text.size(), &value)) return std::nullopt;
  return value;
}

template <class Type>
ParsedTexts parse_floats(const arrow::ChunkedArray& texts, const TypePtr& type) {
  return parse_each<arrow::NumericBuilder<Type>>(texts, type, [](std::string_view text) {
    const std::string_view number = trim_blanks(text);
    auto value = parse_with_arrow<Type>(number);
    const bool has_digits = number.find_first_of("0123456789") != std::string_view::npos;
    if (value && std::isinf(*value) && has_digits) value.reset();
    return value;
  });
}

ParsedTexts parse_booleans(const arrow::ChunkedArray& texts, const TypePtr& type) {
  return parse_each<arrow::BooleanBuilder>(texts, type, [](std::string_view text) -> std::optional<bool> {
    const std::string_view word = trim_blanks(text);
    if (word == "true" || word == "True" || word == "TRUE") return true;
    if (word == "false" || word == "False" || word == "FALSE") return false;
    return std::nullopt;
  });
}

ParsedTexts parse_dates(const arrow::ChunkedArray& texts, const TypePtr& type) {
  return parse_each<arrow::Date32Builder>(
      texts, type, [](std::string_view text) { return parse_with_arrow<arrow::Date32Type>(trim_blanks(text)); });
}

ParsedTexts parse_times(const arrow::ChunkedArray& texts, const TypePtr& type, Zones zones) {
  const auto unit = static_cast<const arrow::TimestampType&>(*type).unit();
  return parse_each<arrow::TimestampBuilder>(texts, type, [&](std::string_view text) -> std::optional<std::int64_t> {
    const std::string_view time = trim_blanks(text);
    std::int64_t value = 0;
    bool has_zone = false;
    if (!arrow::internal::ParseTimestampISO8601(time.data(), time.size(), unit, &value, &has_zone)) return std::nullopt;
    if (zones != Zones::any && has_zone != (zones == Zones::all)) return std::nullopt;
    return value;
  });
}

ParsedTexts parse_decimals(const arrow::ChunkedArray& texts, const TypePtr& type) {
  const auto& wanted = static_cast<const arrow::Decimal128Type&>(*type);
  const auto parse = [&](std::string_view text) -> std::optional<arrow::Decimal128> {
    const auto number = parse_decimal(trim_blanks(text));
    if (!number || number->scale > wanted.scale()) return std::nullopt;
    Int128 value = 0;
    if (__builtin_mul_overflow(number->unscaled, power_of_ten(wanted.scale() - number->scale), &value))
      return std::nullopt;
    const UInt128 magnitude = magnitude_of(value);
    if (magnitude >= magnitude_of(power_of_ten(wanted.precision()))) return std::nullopt;
    return arrow::Decimal128(static_cast<std::int64_t>(value >> 64), static_cast<std::uint64_t>(value));
  };
  return parse_each<arrow::Decimal128Builder>(texts, type, parse);
}

ParsedTexts parse_as(const arrow::ChunkedArray& texts, const TypePtr& type, Zones zones) {
  switch (type->id()) {
    case arrow::Type::INT8: return parse_integers<arrow::Int8Type>(texts, type);
    case arrow::Type::INT16: return parse_integers<arrow::Int16Type>(texts, type);
    case arrow::Type::INT32: return parse_integers<arrow::Int32Type>(texts, type);
    case arrow::Type::INT64: return parse_integers<arrow::Int64Type>(texts, type);
    case arrow::Type::UINT8: return parse_integers<arrow::UInt8Type>(texts, type);
    case arrow::Type::UINT16: return parse_integers<arrow::UInt16Type>(texts, type);
    case arrow::Type::UINT32: return parse_integers<arrow::UInt32Type>(texts, type);
    case arrow::Type::UINT64: return parse_integers<arrow::UInt64Type>(texts, type);
    case arrow::Type::FLOAT: return parse_floats<arrow::FloatType>(texts, type);
    case arrow::Type::DOUBLE: return parse_floats<arrow::DoubleType>(texts, type);
    case arrow::Type::BOOL: return parse_booleans(texts, type);
    case arrow::Type::DATE32: return parse_dates(texts, type);
    case arrow::Type::TIMESTAMP: return parse_times(texts, type, zones);
    case arrow::Type::DECIMAL128: return parse_decimals(texts, type);
    default: return {std::make_shared<arrow::ChunkedArray>(texts.chunks(), texts.type())};
  }
}

/// Returns false where the first text is no date, and no timestamp.
bool may_be_times(const arrow::ChunkedArray& texts) {
  constexpr std::size_t kDateBytes = 10;
  for (const auto& chunk : texts.chunks()) {
    const auto& strings = static_cast<const arrow::StringArray&>(*chunk);
    for (std::int64_t i = 0; i < strings.length(); ++i) {
      if (strings.IsNull(i)) continue;
      return parse_with_arrow<arrow::Date32Type>(trim_blanks(strings.GetView(i)).substr(0, kDateBytes)).has_value();
    }
  }
  return false;
}

TypePtr arrow_type(const DataType& type) {
  switch (type.type) {
    case Type::boolean: return arrow::boolean();
    case Type::int8: return arrow::int8();
    case Type::int16: return arrow::int16();
    case Type::int32: return arrow::int32();
    case Type::int64: return arrow::int64();
    case Type::uint8: return arrow::uint8();
    case Type::uint16: return arrow::uint16();
    case Type::uint32: return arrow::uint32();
    case Type::uint64: return arrow::uint64();
    case Type::decimal64:
    case Type::decimal128: return arrow::decimal128(type.precision, type.scale);
    case Type::float32: return arrow::float32();
    case Type::float16:
    case Type::float64: return arrow::float64();
    case Type::date: return arrow::date32();
    case Type::timestamp: return arrow::timestamp(static_cast<arrow::TimeUnit::type>(type.unit));
    case Type::string: return arrow::utf8();
  }
  return nullptr;
}

/// Returns timestamps of all units, seconds first. Nanoseconds come before coarser units of fractions.
TypeChoices times(const std::string& zone = {}) {
  TypeChoices choices;
  for (const auto unit :
       {arrow::TimeUnit::SECOND, arrow::TimeUnit::NANO, arrow::TimeUnit::MICRO, arrow::TimeUnit::MILLI}) {
    choices.push_back(arrow::timestamp(unit, zone));
  }
  return choices;
}

ParsedTexts parse_first(const arrow::ChunkedArray& texts, const TypeChoices& choices, Zones zones) {
  ParsedTexts parsed;
  for (const TypePtr& type : choices) {
    ParsedTexts next = parse_as(texts, type, zones);
    if (next.values != nullptr) return next;
    parsed.wrong_row = std::max(parsed.wrong_row, next.wrong_row);
  }
  return parsed;
}

}  // namespace

TypeChoices type_choices(const StatedType& stated) {
  return stated.any_unit ? times() : TypeChoices{arrow_type(stated.type)};
}

ParsedTexts parse_texts(const arrow::ChunkedArray& texts, const TypeChoices& choices) {
  return parse_first(texts, choices, Zones::any);
}

ValuesPtr inferred_times(ValuesPtr texts) {
  if (!may_be_times(*texts)) return texts;
  TypeChoices without_zone = times();
  without_zone.insert(without_zone.begin(), arrow::date32());
  ParsedTexts parsed = parse_first(*texts, without_zone, Zones::none);
  if (parsed.values == nullptr) parsed = parse_first(*texts, times("UTC"), Zones::all);
  return parsed.values == nullptr ? std::move(texts) : std::move(parsed.values);
}

NumberType number_type(const NumberFacts& facts) {
  constexpr const char* kReadNearest =
      "; write its large integers with a decimal point or an exponent to read the nearest float64";
  if (facts.integers_only && facts.fit_int64) return {arrow::int64(), {}, {}};
  if (facts.integers_only && facts.fit_uint64) return {arrow::uint64(), {}, {}};
  if (const SpelledNumber& number = facts.beyond_float64; number.is_found()) {
    return {nullptr, "holds " + number.text + ", which is beyond float64 (1.8e308)", number.place};
  }
  if (!facts.integers_only) {
    if (!facts.inexact.is_found()) return {arrow::float64(), {}, {}};
    return {
        nullptr,
        "holds floats and the integer " + facts.inexact.text + ", which float64 does not hold exactly" + kReadNearest,
        facts.inexact.place};
  }
  const bool is_beyond_both = facts.beyond_integers.is_found();
  const SpelledNumber& number = is_beyond_both ? facts.beyond_integers : facts.beyond_int64;
  return {nullptr,
          "holds integers that neither int64 nor uint64 holds together, such as " + number.text +
              (is_beyond_both ? "" : " beside " + facts.negative.text) + kReadNearest,
          number.place};
}

std::string no_value_of(const std::string& text, const std::string& type) {
  return "holds '" + shorten(text) + "', which is no value of type " + type +
         ", as its 'types' say; correct the value, or name another type, such as string";
}

}  // namespace skyrank::datasets
