#include "datasets/text/block_column.hpp"

#include <arrow/array.h>
#include <arrow/array/builder_base.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/cast.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <cmath>
#include <type_traits>
#include <utility>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/csv/csv.hpp"
#include "datasets/input/input.hpp"

namespace skyrank::datasets {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ScalarPtr = std::shared_ptr<arrow::Scalar>;

constexpr std::int64_t kLargestWithoutGap = std::int64_t{1} << 53;

bool is_integer(const TypePtr& type) { return type->id() == arrow::Type::INT64 || type->id() == arrow::Type::UINT64; }

template <class Number>
struct Range {
  std::optional<Number> min;
  std::optional<Number> max;
};

template <class Number>
bool is_nan(Number value) {
  if constexpr (std::is_floating_point_v<Number>) return std::isnan(value);
  return false;
}

/// The least and greatest value other than NULL and NaN.
template <class Array>
auto range_of(const arrow::ChunkedArray& values) {
  using Number = std::remove_cvref_t<decltype(std::declval<Array>().Value(0))>;
  Range<Number> range;
  for (const auto& chunk : values.chunks()) {
    const auto& array = static_cast<const Array&>(*chunk);
    for (std::int64_t i = 0; i < array.length(); ++i) {
      const Number value = array.Value(i);
      if (array.IsNull(i) || is_nan(value)) continue;
      if (!range.min || value < *range.min) range.min = value;
      if (!range.max || value > *range.max) range.max = value;
    }
  }
  return range;
}

template <class Number>
ScalarPtr scalar_of(const TypePtr& type, const std::optional<Number>& value) {
  if (!value) return nullptr;
  auto scalar = arrow::MakeScalar(type, *value);
  check(scalar.status(), "text", "bounds");
  return *std::move(scalar);
}

bool has_text(const arrow::ChunkedArray& values) {
  for (const auto& chunk : values.chunks()) {
    const auto& texts = static_cast<const arrow::StringArray&>(*chunk);
    if (texts.total_values_length() > 0) return true;
  }
  return false;
}

ScalarPtr as_type(const ScalarPtr& value, const TypePtr& type) {
  if (value == nullptr) return arrow::MakeNullScalar(type);
  auto cast = arrow::compute::Cast(value, type);
  check(cast.status(), "text", "bounds");
  return cast->scalar();
}

bool has_bounds(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::INT64:
    case arrow::Type::UINT64:
    case arrow::Type::DOUBLE:
    case arrow::Type::DATE32:
    case arrow::Type::TIMESTAMP: return true;
    default: return false;
  }
}

}  // namespace

void BlockColumn::add(const arrow::ChunkedArray& values, bool empty_is_null) {
  const TypePtr& type = values.type();
  Bounds bounds{.min = nullptr, .max = nullptr, .nulls = values.null_count()};
  const auto set = [&](const auto& range) {
    bounds.min = scalar_of(type, range.min);
    bounds.max = scalar_of(type, range.max);
  };
  switch (type->id()) {
    case arrow::Type::INT64: {
      const auto range = range_of<arrow::Int64Array>(values);
      has_negative_ = has_negative_ || range.min.value_or(0) < 0;
      has_large_integers_ = has_large_integers_ || range.max.value_or(0) > kLargestWithoutGap ||
                            range.min.value_or(0) < -kLargestWithoutGap;
      set(range);
      break;
    }
    case arrow::Type::UINT64: {
      has_large_integers_ = true;
      set(range_of<arrow::UInt64Array>(values));
      break;
    }
    case arrow::Type::DOUBLE: set(range_of<arrow::DoubleArray>(values)); break;
    case arrow::Type::DATE32: set(range_of<arrow::Date32Array>(values)); break;
    case arrow::Type::TIMESTAMP: set(range_of<arrow::TimestampArray>(values)); break;
    default: break;
  }
  const bool only_empty = type->id() == arrow::Type::STRING && empty_is_null && !has_text(values);
  if (only_empty) bounds.nulls = values.length();
  bounds_.push_back(std::move(bounds));
  if (only_empty) {
    has_empty_texts_ = true;
  } else if (type->id() != arrow::Type::NA) {
    merge(type);
  }
}

void BlockColumn::add_nulls(std::int64_t rows) { bounds_.push_back({.min = nullptr, .max = nullptr, .nulls = rows}); }

/// Finds the type that the whole text would have: text where two types have nothing in common.
void BlockColumn::merge(const TypePtr& type) {
  if (type_ == nullptr || type_->Equals(type)) {
    type_ = type;
    return;
  }
  const auto has = [&](arrow::Type::type id) { return type_->id() == id || type->id() == id; };
  if (is_integer(type_) && is_integer(type)) {
    type_ = arrow::uint64();
  } else if (has(arrow::Type::DOUBLE) && (is_integer(type_) || is_integer(type))) {
    type_ = arrow::float64();
  } else if (has(arrow::Type::TIMESTAMP) && !has(arrow::Type::STRING)) {
    const TypePtr& time = type_->id() == arrow::Type::TIMESTAMP ? type_ : type;
    const bool has_zone = !static_cast<const arrow::TimestampType&>(*time).timezone().empty();
    // Units and zones that differ: values decide.
    if (has_zone || !(has(arrow::Type::DATE32) || type_->id() != type->id())) throw NeedsWholeText();
    type_ = has(arrow::Type::DATE32) ? time : arrow::utf8();
  } else {
    type_ = arrow::utf8();
  }
}

TypePtr BlockColumn::type() const {
  if (type_ == nullptr) return has_empty_texts_ ? arrow::utf8() : arrow::null();
  const bool loses_digits = type_->id() == arrow::Type::DOUBLE && has_large_integers_;
  const bool loses_signs = type_->id() == arrow::Type::UINT64 && has_negative_;
  if (loses_digits || loses_signs) throw NeedsWholeText();
  return type_;
}

std::optional<UnitStatistics> BlockColumn::statistics(const TypePtr& type, const std::string& name) const {
  if (!has_bounds(*type)) return std::nullopt;
  std::unique_ptr<arrow::ArrayBuilder> min;
  std::unique_ptr<arrow::ArrayBuilder> max;
  check(arrow::MakeBuilder(arrow::default_memory_pool(), type, &min), name, "bounds");
  check(arrow::MakeBuilder(arrow::default_memory_pool(), type, &max), name, "bounds");
  std::vector<std::optional<std::int64_t>> nulls;
  for (const Bounds& block : bounds_) {
    check(min->AppendScalar(*as_type(block.min, type)), name, "bounds");
    check(max->AppendScalar(*as_type(block.max, type)), name, "bounds");
    nulls.emplace_back(block.nulls);
  }
  const auto column_of = [&](arrow::ArrayBuilder& builder) {
    auto built = builder.Finish();
    check(built.status(), name, "bounds");
    const auto values = normalise(std::make_shared<arrow::ChunkedArray>(*std::move(built)), "text", name);
    const auto schema = arrow::schema({arrow::field(name, values->type())});
    return to_skyrank(arrow::Table::Make(schema, {values}), name).column(0);
  };
  return UnitStatistics{column_of(*min), column_of(*max), std::move(nulls)};
}

}  // namespace skyrank::datasets
