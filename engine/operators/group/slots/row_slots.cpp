#include "engine/operators/group/slots/row_slots.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "engine/expression/load.hpp"
#include "engine/expression/source.hpp"
#include "engine/keys/value_range.hpp"

namespace skyrank::exec {
namespace {

/// The slot of the first value of a column: slot 0 is that of NULL, if there may be any.
std::uint32_t first_slot(const Column& column) { return column.may_have_nulls() ? 1 : 0; }

bool has_entries(const Column& column) { return column.data().layout == Layout::dictionary; }

template <class T>
constexpr bool is_integer = std::is_integral_v<T>;

/// The difference of two values of which the first is not less.
template <class T>
std::uint64_t difference(T value, T lowest) {
  return static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(lowest);
}

/// Returns the range of the values unless it is too wide. The first block tells most of those.
template <class T>
std::optional<ValueRange<T>> narrow_range(const Column& column, const Rows& rows, std::int64_t max_count) {
  Source source(column, rows);
  const auto is_narrow = [&](const ValueRange<T>& range) {
    return difference(range.highest, range.lowest) < static_cast<std::uint64_t>(max_count);
  };
  source.rows.n = std::min(rows.n, kBlockRows);
  if (!is_narrow(range_of<T>(source))) return std::nullopt;
  source.rows.n = rows.n;
  const ValueRange<T> range = range_of<T>(source);
  return is_narrow(range) ? std::optional(range) : std::nullopt;
}

/// Stored integers of a block, booleans as 0 or 1.
template <class T>
const T* load_integers(const ColumnData& data, const Rows& rows, std::int64_t begin, std::int64_t size, T* scratch) {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    if (data.type.type == Type::boolean) return load_booleans(data, rows, begin, size, scratch);
  }
  return load_values(data, rows, begin, size, scratch);
}

}  // namespace

RowSlots::RowSlots(ListedGroups listed)
    : rows_{static_cast<std::int64_t>(listed.of.size()), nullptr},
      count_(listed.count),
      listed_(std::move(listed.of)) {}

RowSlots::RowSlots(const GroupKeys& keys)
    : rows_{keys.rows(), nullptr}, partitions_(std::make_shared<const HashPartitions>(keys)) {
  count_ = partitions_->groups();
}

std::int64_t RowSlots::max_count(std::int64_t n) {
  constexpr std::int64_t kFew = 64;
  constexpr std::int64_t kRowsPerSlot = 3;
  constexpr std::int64_t kMax = std::int64_t{1} << 31;
  return std::clamp(n / kRowsPerSlot, kFew, kMax);
}

std::optional<RowSlots::Part> RowSlots::part_of_values(const Column& column, const Rows& rows, std::int64_t max_count) {
  return with_stored_type(column.type().type, [&]<class T>(T) -> std::optional<Part> {
    if constexpr (is_integer<T>) {
      const auto range = narrow_range<T>(column, rows, max_count);
      if (!range) return std::nullopt;
      const auto count = static_cast<std::int64_t>(difference(range->highest, range->lowest)) + 1 + first_slot(column);
      return Part{column, count, Values{static_cast<std::uint64_t>(range->lowest)}};
    }
    return std::nullopt;
  });
}

RowSlots::Part RowSlots::part_of_entries(const Column& column) {
  const ColumnData& dictionary = *column.data().dictionary;
  std::unordered_map<std::string_view, std::uint32_t> known;
  // One entry more: NULL rows look up entry 0, even of an empty dictionary.
  Entries entries{Vector<std::uint32_t>(static_cast<std::size_t>(dictionary.length) + 1)};
  for (std::int64_t i = 0; i < dictionary.length; ++i) {
    if (!dictionary.validity(i)) continue;
    const auto next = static_cast<std::uint32_t>(known.size()) + first_slot(column);
    entries.slots[i] = known.emplace(dictionary.string_at(i), next).first->second;
  }
  const auto count = static_cast<std::int64_t>(known.size()) + first_slot(column);
  return Part{column, std::max<std::int64_t>(count, 1), std::move(entries)};
}

std::optional<RowSlots::Part> RowSlots::part_of(const Column& column, const Rows& rows, std::int64_t max_count) {
  if (column.type().type != Type::string) return part_of_values(column, rows, max_count);
  if (!has_entries(column) || column.data().dictionary->length > max_count) return std::nullopt;
  return part_of_entries(column);
}

std::optional<RowSlots> RowSlots::of_values(const Table& table, std::span<const int> columns, const Rows& rows,
                                            std::int64_t max) {
  RowSlots slots(rows);
  for (const int index : columns) {
    std::optional<Part> part = part_of(table.column(index), rows, max);
    if (!part || part->count > max / slots.count_) return std::nullopt;
    slots.count_ *= part->count;
    slots.parts_.push_back(std::move(*part));
  }
  return slots;
}

std::string RowSlots::describe() const {
  if (partitions_) return "numbered in " + std::to_string(partitions_->partitions()) + " partitions by hash";
  return listed_.empty() ? "numbered by value" : "numbered by a hash table for each range of rows";
}

void RowSlots::load_part(const Part& part, std::int64_t begin, std::int64_t size, std::uint32_t* out) const {
  const ColumnData& data = part.column.data();
  const std::uint32_t first = first_slot(part.column);
  std::uint8_t validity[kBlockRows];
  const std::uint8_t* const valid = load_validity(data, rows_, begin, size, validity);
  if (const auto* const entries = std::get_if<Entries>(&part.numbers)) {
    with_stored_type(data.index_type, [&]<class T>(T) {
      if constexpr (is_integer<T>) {
        T scratch[kBlockRows];
        const T* const indices = load_values(data, rows_, begin, size, scratch);
        // Rows of NULL may have any numbers.
        for (std::int64_t i = 0; i < size; ++i) {
          out[i] = valid == nullptr || valid[i] != 0 ? entries->slots[static_cast<std::size_t>(indices[i])] : 0;
        }
      }
    });
  } else {
    const std::uint64_t lowest = std::get<Values>(part.numbers).lowest;
    with_stored_type(data.type.type, [&]<class T>(T) {
      if constexpr (is_integer<T>) {
        T scratch[kBlockRows];
        const T* const values = load_integers(data, rows_, begin, size, scratch);
        const auto offset = static_cast<std::uint32_t>(lowest) - first;
        for (std::int64_t i = 0; i < size; ++i) out[i] = static_cast<std::uint32_t>(values[i]) - offset;
      }
    });
  }
  if (valid == nullptr) return;
  for (std::int64_t i = 0; i < size; ++i) out[i] = valid[i] != 0 ? out[i] : 0;
}

void RowSlots::load(std::int64_t begin, std::int64_t size, std::uint32_t* out) const {
  if (!listed_.empty()) {
    std::copy_n(listed_.data() + begin, size, out);
    return;
  }
  if (parts_.empty()) std::fill_n(out, size, 0);
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    if (p == 0) {
      load_part(parts_[p], begin, size, out);
      continue;
    }
    std::uint32_t next[kBlockRows];
    load_part(parts_[p], begin, size, next);
    const auto count = static_cast<std::uint32_t>(parts_[p].count);
    for (std::int64_t i = 0; i < size; ++i) out[i] = out[i] * count + next[i];
  }
}

}  // namespace skyrank::exec
