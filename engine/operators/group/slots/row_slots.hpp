#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/expression/evaluate.hpp"
#include "engine/operators/group/slots/few_groups.hpp"
#include "engine/operators/group/slots/hash_partitions.hpp"
#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {

/// Numbers the positions [0, n) of a row set: equal numbers, or slots, for rows that are equal in some columns, and
/// different ones for others. NULLs are equal to each other. There are three kinds:
/// - slots of values are computed from the stored values a block at a time, where these are close together (integers,
///   dates and times of a narrow range, booleans, entries of a dictionary); some may have no rows;
/// - listed slots are stored, one a position;
/// - slots of partitions are known partition by partition: the slot of a partition's group is
///   group << partitions()->bits() | partition.
class RowSlots {
 public:
  /// Returns slots that are computed from the values of `columns`, no more than `max_count()` of them; nothing where
  /// values are too far apart, or of a type that is compared otherwise. `rows` has to outlive the slots' use.
  static std::optional<RowSlots> of_values(const Table& table, std::span<const int> columns, const Rows& rows) {
    return of_values(table, columns, rows, max_count(rows.n));
  }
  /// The same with another limit of the slots.
  static std::optional<RowSlots> of_values(const Table& table, std::span<const int> columns, const Rows& rows,
                                           std::int64_t max);

  explicit RowSlots(ListedGroups listed);
  explicit RowSlots(const GroupKeys& keys);  ///< slots of partitions

  /// Returns how many slots n rows may have for memory per slot not to matter beside the rows.
  static std::int64_t max_count(std::int64_t n);

  /// Number of slots. All are in [0, count()), but those of partitions.
  std::int64_t count() const { return count_; }
  std::int64_t rows() const { return rows_.n; }
  /// Returns how the slots are numbered, as explain shows it.
  std::string describe() const;
  /// Returns the partitions of the slots, or null if the slots are of another kind.
  const HashPartitions* partitions() const { return partitions_.get(); }

  /// Writes the slots of the positions [begin, begin + size); 0 <= size <= kBlockRows. Not for slots of
  /// partitions.
  void load(std::int64_t begin, std::int64_t size, std::uint32_t* out) const;

 private:
  /// Slots are differences to the lowest value.
  struct Values {
    std::uint64_t lowest = 0;
  };
  /// Slots are looked up by the index into a dictionary.
  struct Entries {
    Vector<std::uint32_t> slots;
  };
  /// A column's part of the slots: 0 for NULL if the column may have any, then those of the values.
  struct Part {
    Column column;
    std::int64_t count;
    std::variant<Values, Entries> numbers;
  };

  explicit RowSlots(const Rows& rows) : rows_(rows) {}
  static std::optional<Part> part_of(const Column& column, const Rows& rows, std::int64_t max_count);
  static std::optional<Part> part_of_values(const Column& column, const Rows& rows, std::int64_t max_count);
  static Part part_of_entries(const Column& column);
  void load_part(const Part& part, std::int64_t begin, std::int64_t size, std::uint32_t* out) const;

  Rows rows_;
  std::int64_t count_ = 1;
  std::vector<Part> parts_;                           // most significant first
  RawVector<std::uint32_t> listed_;                   // then there are no parts
  std::shared_ptr<const HashPartitions> partitions_;  // the same
};

}  // namespace skyrank::exec
