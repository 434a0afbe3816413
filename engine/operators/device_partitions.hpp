#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/device_query_state.hpp"
#include "engine/keys/keys.hpp"
#include "engine/operators/partition.hpp"
#include "engine/operators/rank.hpp"
#include "kernels/cuda/groups/partition_rows.hpp"

// Partitions that are made on the GPU, of columns as they lie there.
namespace skyrank::exec {

/// Returns true if the values of a column have codes on the GPU: a number, a time or a truth that lies there, or a
/// string of a dictionary that is no longer than the column.
bool has_codes_on_device(const ColumnData& column);

/// The way in which rows are numbered by their groups or partitions there, as explain shows it.
inline constexpr const char* kSortedOnDevice = "sorted by value on the GPU";

/// One code for each row, of the values of some columns that have codes there: equal where `classify` finds the values
/// equal. Nothing where the codes of a row take more than 64 bits together, or the rows are too many for numbers of 32.
std::optional<Keys> codes_on_device(DeviceQueryState& device_state, const Table& table, std::span<const int> columns,
                                    const RowSet& rows);

/// A ranking of which only the best rows of each segment are wanted.
struct BestRows {
  kernels::KeyColumn keys;  ///< on the device, of all positions
  std::size_t k = 0;        ///< rows of a segment, and those that tie with the last of them
};

/// The positions of a row set in segments of equal values, in the memory of the device.
class DevicePartitions {
 public:
  /// Brings the rows of each code together. Rows that cannot be among the best may be left out. Returns nothing where
  /// `codes_on_device` does.
  static std::optional<DevicePartitions> of(DeviceQueryState& device_state, const Table& table,
                                            std::span<const int> columns, const RowSet& rows,
                                            const std::optional<BestRows>& best = std::nullopt);

  /// The same of the rows that can be among the k best of their partitions, whose columns are read as they lie: values
  /// become codes and keys on the way. `rows` are all of the table's. Returns nothing where columns do not lie so,
  /// where several make the partitions, or where the search for these rows does not pay.
  static std::optional<DevicePartitions> of_best(DeviceQueryState& device_state, const Table& table,
                                                 std::span<const int> columns,
                                                 std::span<const query::BoundRankTerm> ranking, std::int64_t k);

  std::int64_t count() const { return rows_.count(); }
  /// Positions that were brought together.
  std::int64_t sorted() const { return rows_.bounds.back(); }

  /// The segments of keys that `in_order` gives, in no particular order.
  Segments segments() const { return {rows_.bounds, {}}; }

  /// Rows at the positions that `of_best` brought together, segment by segment.
  RowSet row_set() const { return RowSet::on_device(sorted(), kernels::cuda::groups::ids_in_order(rows_)); }

  /// Key columns of these positions, segment by segment. The keys lie on the device.
  std::vector<Keys> in_order(const std::vector<Keys>& keys) const;

  /// The order in which the device itself can bring an answer together.
  DeviceOrder order() const { return {rows_.by_first, static_cast<const std::uint32_t*>(rows_.order.data())}; }

  /// Makes an answer of positions of keys in order, which lie segment by segment: positions of the row set, segments in
  /// the order of their first rows.
  Vector<std::int64_t> answer(const Vector<std::int64_t>& ranked) const;

 private:
  explicit DevicePartitions(kernels::cuda::groups::PartitionedRows rows) : rows_(std::move(rows)) {}

  kernels::cuda::groups::PartitionedRows rows_;
};

}  // namespace skyrank::exec
