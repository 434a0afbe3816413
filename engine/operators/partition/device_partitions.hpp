#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/device_query_state.hpp"
#include "engine/keys/keys.hpp"
#include "engine/operators/segments.hpp"
#include "kernels/cuda/groups/partition_rows.hpp"

// Partitions that are made on the GPU, from stored columns.
namespace skyrank::exec {

/// Returns true if the values of a column have codes on the GPU: a number, a time or a truth that lies there, or a
/// string of a dictionary that is no longer than the column.
bool has_codes_on_device(const ColumnData& column);

/// Text of explain for rows that are numbered by their groups or partitions on the GPU.
inline constexpr const char* kSortedOnDevice = "sorted by value on the GPU";

/// One code for each row, of the values of some columns that have codes there: equal where `classify` finds the values
/// equal. Nothing where the codes of a row take more than 64 bits together, or the rows are too many for numbers of 32.
std::optional<Keys> codes_on_device(DeviceQueryState& device_state, const Table& table, std::span<const int> columns,
                                    const RowSet& rows);

/// A ranking that keeps only the best rows of each segment.
struct BestRows {
  kernels::KeyColumn keys;  ///< on the device, of all positions
  std::size_t k = 0;        ///< rows of a segment, and those that tie with the last of them
};

/// The positions of a row set in segments of equal values, in the memory of the device.
class DevicePartitions {
 public:
  /// Sorts the rows by their codes. May leave out rows that cannot be among the best. Returns nothing where
  /// `codes_on_device` does.
  static std::optional<DevicePartitions> of(DeviceQueryState& device_state, const Table& table,
                                            std::span<const int> columns, const RowSet& rows,
                                            const std::optional<BestRows>& best = std::nullopt);

  /// Sorts only rows that can be among the k best of their partitions. It reads the stored columns of all rows, and
  /// makes codes and keys of the values in registers. Returns nothing where a column's layout does not allow that,
  /// where several columns make the partitions, or where the search for these rows does not pay off.
  static std::optional<DevicePartitions> of_best(DeviceQueryState& device_state, const Table& table,
                                                 std::span<const int> columns,
                                                 std::span<const query::BoundRankTerm> ranking, std::int64_t k);

  std::int64_t count() const { return rows_.count(); }
  /// Returns the number of positions that were sorted.
  std::int64_t sorted() const { return rows_.bounds.back(); }

  /// The segments of keys that `in_order` gives, in no particular order.
  Segments segments() const { return {rows_.bounds, {}}; }

  /// Returns the rows that `of_best` sorted, segment by segment.
  RowSet row_set() const { return RowSet::on_device(sorted(), kernels::cuda::groups::ids_in_order(rows_)); }

  /// Key columns of these positions, segment by segment. The keys lie on the device.
  std::vector<Keys> in_order(const std::vector<Keys>& keys) const;

  /// Returns the order in which the device can gather an answer.
  DeviceOrder order() const { return {rows_.by_first, static_cast<const std::uint32_t*>(rows_.order.data())}; }

  /// Makes an answer of positions of keys in order, which lie segment by segment: positions of the row set, segments in
  /// the order of their first rows.
  Vector<std::int64_t> answer(const Vector<std::int64_t>& ranked) const;

 private:
  explicit DevicePartitions(kernels::cuda::groups::PartitionedRows rows) : rows_(std::move(rows)) {}

  kernels::cuda::groups::PartitionedRows rows_;
};

}  // namespace skyrank::exec
