#include "engine/operators/skyline/dominators.hpp"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "engine/expression/load.hpp"
#include "kernels/cpu/skyline/strict_dominance.hpp"

namespace skyrank::exec {
namespace {

constexpr std::size_t kKnown = 24;         ///< known rows: each costs a comparison for each row that is read
constexpr std::size_t kForCorners = 2048;  ///< known rows for corners, which are few
constexpr std::size_t kSampleRows = 512;   ///< rows by which known ones are chosen
constexpr std::size_t kRowsOfUnit = 64;    ///< rows of a later unit that join the sample
constexpr std::size_t kMaxJudged = 1024;   ///< rows from all over a skyline that are looked at,
constexpr std::size_t kJudges = 32;        ///< rows of the sample that are compared with each of them,
constexpr std::size_t kCandidates = 192;   ///< and rows that dominate the most of these and may become known

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Rows, one after the other.
using Floats = std::span<const float>;
using Dominated = std::bitset<kSampleRows>;

bool is_number(const Order& order) {
  const Type type = order.expression->type.type;
  return type != Type::string && type != Type::decimal128 && type != Type::float16;
}

float as_float(auto value) {
  if constexpr (std::is_arithmetic_v<decltype(value)>) {
    return static_cast<float>(value);
  } else {
    return kNaN;
  }
}

/// Writes values as floats of which less is better, NaN where `valid` has a zero. `out` may be `values`.
template <class T>
void write_floats(const T* values, const std::uint8_t* valid, std::int64_t size, bool high, float* out) {
  if (high) {
    for (std::int64_t i = 0; i < size; ++i) out[i] = -as_float(values[i]);
  } else {
    for (std::int64_t i = 0; i < size; ++i) out[i] = as_float(values[i]);
  }
  for (std::int64_t i = 0; valid != nullptr && i < size; ++i) {
    if (valid[i] == 0) out[i] = kNaN;
  }
}

/// Returns the values of a block of rows, of which less is better; NaN for NULL. They are the column's own where these
/// are such floats, else `out` has room for them.
const float* load_floats(const ColumnData& column, bool high, std::int64_t begin, std::int64_t size, float* out) {
  const Rows rows{column.length, nullptr};
  std::uint8_t nulls[kBlockRows];
  const std::uint8_t* const valid = load_validity(column, rows, begin, size, nulls);
  return with_stored_type(column.type.type, [&](auto stored) -> const float* {
    using T = decltype(stored);
    if constexpr (std::is_same_v<T, float>) {
      const float* const values = load_values<float>(column, rows, begin, size, out);
      if (valid == nullptr && !high) return values;
      write_floats(values, valid, size, high, out);
    } else {
      T scratch[kBlockRows];
      write_floats(load_values<T>(column, rows, begin, size, scratch), valid, size, high, out);
    }
    return out;
  });
}

bool is_better(Floats row, Floats than) {
  std::size_t c = 0;
  while (c < row.size() && row[c] < than[c]) ++c;
  return c == row.size();
}

bool is_dominated(Floats row, Floats known) {
  std::size_t i = 0;
  while (i < known.size() && !is_better(known.subspan(i, row.size()), row)) i += row.size();
  return i < known.size();
}

/// Returns which rows of a sample a row is better than in every column.
Dominated dominated_by(Floats row, Floats sample) {
  Dominated dominated;
  for (std::size_t i = 0; i * row.size() < sample.size(); ++i) {
    dominated[i] = is_better(row, sample.subspan(i * row.size(), row.size()));
  }
  return dominated;
}

/// Keeps the rows that dominate the most of some rows of a sample.
void keep_candidates(std::vector<float>& rows, std::size_t width, Floats sample) {
  const std::size_t count = rows.size() / width;
  if (count <= kCandidates) return;
  const Floats judges = sample.first(std::min(kJudges * width, sample.size()));
  std::vector<std::pair<std::size_t, std::size_t>> order;  // by how many are dominated
  for (std::size_t i = 0; i < count; ++i) {
    order.emplace_back(dominated_by(Floats(rows).subspan(i * width, width), judges).count(), i);
  }
  std::ranges::nth_element(order, order.begin() + kCandidates, std::greater<>());
  std::vector<float> kept;
  for (std::size_t i = 0; i < kCandidates; ++i) {
    const auto row = rows.begin() + static_cast<std::ptrdiff_t>(order[i].second * width);
    kept.insert(kept.end(), row, row + static_cast<std::ptrdiff_t>(width));
  }
  rows = std::move(kept);
}

/// Returns rows that dominate many of a sample, one after the other the one that adds most. `rows` has `width` values
/// a row.
std::vector<float> cover(const std::vector<float>& rows, std::size_t width, Floats sample) {
  std::vector<Dominated> each;
  for (std::size_t i = 0; i < rows.size(); i += width) {
    each.push_back(dominated_by(Floats(rows).subspan(i, width), sample));
  }
  std::vector<float> chosen;
  Dominated left = Dominated().set();
  while (chosen.size() < kKnown * width) {
    const auto adds = [&](const Dominated& dominated) { return (dominated & left).count(); };
    const auto best = std::ranges::max_element(each, {}, adds);
    if (best == each.end() || adds(*best) == 0) break;
    left &= ~*best;
    const auto row = rows.begin() + (best - each.begin()) * static_cast<std::ptrdiff_t>(width);
    chosen.insert(chosen.end(), row, row + static_cast<std::ptrdiff_t>(width));
  }
  return chosen;
}

}  // namespace

Dominators::Dominators(std::vector<Order> orders)
    : orders_(std::move(orders)), are_numbers_(!orders_.empty() && std::ranges::all_of(orders_, is_number)) {}

std::vector<RowId> Dominators::not_dominated(const Table& table) const {
  std::vector<Column> by_order;
  for (const Order& order : orders_) by_order.push_back(table.column(order.expression->column));
  return find_left(by_order, known_);
}

std::vector<RowId> Dominators::corners_left(std::span<const Column> by_order) const {
  return find_left(by_order, for_corners_);
}

std::vector<RowId> Dominators::find_left(std::span<const Column> by_order, std::span<const float> known) const {
  std::vector<RowId> rows;
  std::vector<float> values(width() * kBlockRows);
  std::vector<const float*> columns(width());
  std::vector<std::uint32_t> found(kBlockRows);
  const std::int64_t all = by_order.front().size();
  if (known.empty()) {
    rows.resize(static_cast<std::size_t>(all));
    std::iota(rows.begin(), rows.end(), RowId{0});
    return rows;
  }
  for (std::int64_t begin = 0; begin < all; begin += kBlockRows) {
    const std::int64_t size = std::min(kBlockRows, all - begin);
    for (std::size_t c = 0; c < width(); ++c) {
      columns[c] = load_floats(by_order[c].data(), orders_[c].high, begin, size, &values[c * kBlockRows]);
    }
    const std::size_t count =
        kernels::skyline::find_not_dominated(columns, static_cast<std::size_t>(size), known, found.data());
    for (std::size_t i = 0; i < count; ++i) rows.push_back(begin + found[i]);
  }
  return rows;
}

void Dominators::learn(const Table& unit, const Table& table, std::span<const RowId> skyline) {
  if (!are_numbers_ || unit.num_rows() == 0 || skyline.empty()) return;
  add_to_sample(unit);
  std::vector<float> rows;
  const std::size_t step = (skyline.size() + kMaxJudged - 1) / kMaxJudged;
  for (std::size_t i = 0; i < skyline.size(); i += step) add_row(table, skyline[i], rows);
  add_for_corners(rows);
  keep_candidates(rows, width(), sample_);
  rows.insert(rows.end(), known_.begin(), known_.end());
  known_ = cover(rows, width(), sample_);
}

/// Adds rows that no known one dominates. Where there are too many, every second one stays.
void Dominators::add_for_corners(std::span<const float> rows) {
  for (std::size_t i = 0; i < rows.size(); i += width()) {
    const Floats row = rows.subspan(i, width());
    if (is_dominated(row, known_)) continue;
    for_corners_.insert(for_corners_.end(), row.begin(), row.end());
  }
  while (for_corners_.size() > kForCorners * width()) {
    const std::size_t count = for_corners_.size() / width() / 2;
    for (std::size_t i = 1; i < count; ++i) {
      std::copy_n(&for_corners_[2 * i * width()], width(), &for_corners_[i * width()]);
    }
    for_corners_.resize(count * width());
  }
}

void Dominators::add_row(const Table& table, RowId row, std::vector<float>& to) const {
  for (const Order& order : orders_) {
    float value = 0;
    to.push_back(*load_floats(table.column(order.expression->column).data(), order.high, row, 1, &value));
  }
}

void Dominators::add_to_sample(const Table& unit) {
  const auto rows = static_cast<std::size_t>(unit.num_rows());
  const std::size_t count = std::min(sample_.empty() ? kSampleRows : kRowsOfUnit, rows);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<float> row;
    add_row(unit, static_cast<RowId>(rows / count * i), row);
    if (sample_.size() < kSampleRows * width()) {
      sample_.insert(sample_.end(), row.begin(), row.end());
      continue;
    }
    std::ranges::copy(row, sample_.begin() + static_cast<std::ptrdiff_t>(oldest_ * width()));
    oldest_ = (oldest_ + 1) % kSampleRows;
  }
}

}  // namespace skyrank::exec
