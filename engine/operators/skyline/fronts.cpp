#include <skyrank/fronts.hpp>

#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>

#include <skyrank/error.hpp>

#include "kernels/common/keys.hpp"
#include "kernels/cpu/levels/levels.hpp"
#include "kernels/cpu/skyline/sweep.hpp"

namespace skyrank {
inline namespace v0 {
namespace {

using kernels::KeyColumn;
using kernels::KeyWidth;

template <class Value>
Value load(const std::byte* at) {
  Value value;
  std::memcpy(&value, at, sizeof(Value));
  return value;
}

/// Returns the key of a value: an integer that orders as the values do.
template <class Bits, class Value>
Bits key_of(Value value) {
  if constexpr (std::is_floating_point_v<Value>) {
    return kernels::float_key(std::bit_cast<Bits>(value), /*high=*/false);
  } else {
    return kernels::IntegerKey<Value>(std::numeric_limits<Value>::min(), /*high=*/false)(value);
  }
}

template <class Bits, class Value>
void make_keys(const Points& points, Bits* keys) {
  const auto* column = static_cast<const std::byte*>(points.values);
  for (std::int64_t c = 0; c < points.columns; ++c, column += points.column_stride) {
    const std::byte* at = column;
    for (std::int64_t row = 0; row < points.rows; ++row, at += points.row_stride) {
      *keys++ = key_of<Bits>(load<Value>(at));
    }
  }
}

/// Keys of points, column by column.
class PointKeys {
 public:
  explicit PointKeys(const Points& points) {
    const bool wide = points.type == Type::float64 || points.type == Type::int64 || points.type == Type::uint64;
    const std::size_t rows = points.rows;
    const std::size_t bytes = wide ? 8 : 4;
    keys_.resize((rows * static_cast<std::size_t>(points.columns) * bytes + 7) / 8);
    fill(points);
    const auto* const first = reinterpret_cast<const std::byte*>(keys_.data());
    for (std::int64_t c = 0; c < points.columns; ++c) {
      columns_.push_back(
          {first + static_cast<std::size_t>(c) * rows * bytes, wide ? KeyWidth::bytes8 : KeyWidth::bytes4});
    }
  }

  const std::vector<KeyColumn>& columns() const { return columns_; }

 private:
  void fill(const Points& points) {
    auto* const wide = keys_.data();
    auto* const narrow = reinterpret_cast<std::uint32_t*>(keys_.data());
    switch (points.type) {
      case Type::float32: return make_keys<std::uint32_t, float>(points, narrow);
      case Type::float64: return make_keys<std::uint64_t, double>(points, wide);
      case Type::int32: return make_keys<std::uint32_t, std::int32_t>(points, narrow);
      case Type::int64: return make_keys<std::uint64_t, std::int64_t>(points, wide);
      case Type::uint32: return make_keys<std::uint32_t, std::uint32_t>(points, narrow);
      case Type::uint64: return make_keys<std::uint64_t, std::uint64_t>(points, wide);
      default: return;  // refused before
    }
  }

  std::vector<std::uint64_t> keys_;
  std::vector<KeyColumn> columns_;
};

void check(const Points& points) {
  if (!is_type_of_points(points.type)) {
    throw DataError("points are floats or integers of 32 or 64 bits, not " + to_string(DataType{points.type}));
  }
  if (points.rows < 0 || static_cast<std::uint64_t>(points.rows) > kernels::kMaxLevelRows) {
    throw DataError("points have 0 to " + std::to_string(kernels::kMaxLevelRows) + " rows, not " +
                    std::to_string(points.rows));
  }
  if (points.columns < 1 || static_cast<std::uint64_t>(points.columns) > kernels::kMaxDims) {
    throw DataError("points have 1 to " + std::to_string(kernels::kMaxDims) + " columns, not " +
                    std::to_string(points.columns));
  }
}

kernels::Vector<std::int32_t> levels_of(const Points& points, std::int32_t max_levels) {
  check(points);
  const PointKeys keys(points);
  const kernels::LevelsProblem problem{
      .n = static_cast<std::size_t>(points.rows), .keys = keys.columns(), .max_levels = max_levels};
  return kernels::find_levels(problem, {}).levels;
}

/// Returns the skyline of up to kMaxSweptColumns columns, which takes a sweep half the time of levels, or less.
std::vector<RowId> swept_rows(const Points& points) {
  check(points);
  const PointKeys keys(points);
  const kernels::SkylineProblem problem{
      .n = static_cast<std::size_t>(points.rows), .keys = keys.columns(), .order = {}};
  const auto rows = kernels::skyline::sweep.run(problem, {}, {}).rows;
  return {rows.begin(), rows.end()};
}

}  // namespace

bool is_type_of_points(Type type) {
  switch (type) {
    case Type::float32:
    case Type::float64:
    case Type::int32:
    case Type::int64:
    case Type::uint32:
    case Type::uint64: return true;
    default: return false;
  }
}

std::vector<std::int32_t> pareto_ranks(const Points& points) {
  const auto levels = levels_of(points, std::numeric_limits<std::int32_t>::max());
  return {levels.begin(), levels.end()};
}

std::vector<RowId> nondominated_rows(const Points& points) {
  if (points.columns <= std::int64_t{kernels::skyline::kMaxSweptColumns}) return swept_rows(points);
  const auto levels = levels_of(points, 1);
  std::vector<RowId> rows;
  for (std::size_t row = 0; row < levels.size(); ++row) {
    if (levels[row] == 0) rows.push_back(static_cast<RowId>(row));
  }
  return rows;
}

}  // namespace v0
}  // namespace skyrank
