#include "engine/indicators/distinct_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

namespace skyrank::exec {
namespace {

template <class Value>
bool is_nan(Value value) {
  if constexpr (std::is_floating_point_v<Value>) return std::isnan(value);
  return false;
}

/// Compares rows by their values, in which NaN is the greatest.
template <class Value>
class RowOrder {
 public:
  explicit RowOrder(const Points& points) : points_(points) {}

  /// Returns a negative number, 0 or a positive one.
  int compare(RowId a, RowId b) const {
    for (std::int64_t column = 0; column < points_.columns; ++column) {
      const Value x = value(a, column);
      const Value y = value(b, column);
      if (x < y) return -1;
      if (y < x) return 1;
      if (x == y) continue;
      if (is_nan(x) != is_nan(y)) return is_nan(x) ? 1 : -1;
    }
    return 0;
  }

 private:
  Value value(RowId row, std::int64_t column) const {
    Value value;
    std::memcpy(
        &value,
        static_cast<const std::byte*>(points_.values) + row * points_.row_stride + column * points_.column_stride,
        sizeof(Value));
    return value;
  }

  const Points& points_;
};

template <class Value>
std::vector<RowId> distinct(const Points& points) {
  const RowOrder<Value> order(points);
  std::vector<RowId> rows(static_cast<std::size_t>(points.rows));
  std::iota(rows.begin(), rows.end(), RowId{0});
  std::sort(rows.begin(), rows.end(), [&](RowId a, RowId b) {
    const int compared = order.compare(a, b);
    return compared != 0 ? compared < 0 : a < b;
  });
  const auto equal = [&](RowId a, RowId b) { return order.compare(a, b) == 0; };
  rows.erase(std::unique(rows.begin(), rows.end(), equal), rows.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

std::vector<RowId> distinct_rows(const Points& points) {
  switch (points.type) {
    case Type::float32: return distinct<float>(points);
    case Type::int32: return distinct<std::int32_t>(points);
    case Type::int64: return distinct<std::int64_t>(points);
    case Type::uint32: return distinct<std::uint32_t>(points);
    case Type::uint64: return distinct<std::uint64_t>(points);
    default: return distinct<double>(points);
  }
}

}  // namespace skyrank::exec
