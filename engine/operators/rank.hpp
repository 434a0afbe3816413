#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/device_query_state.hpp"
#include "engine/device/row_set.hpp"
#include "engine/device/scan.hpp"
#include "engine/keys/fused_keys.hpp"
#include "engine/keys/key_cache.hpp"
#include "engine/keys/key_columns.hpp"
#include "engine/operators/kernel_path.hpp"
#include "engine/operators/partition.hpp"

namespace skyrank::exec {

/// The part of an ordered segment that is the answer.
struct Window {
  std::int64_t offset = 0;
  std::optional<std::int64_t> limit;
  Ties ties = Ties::first;

  bool is_all() const { return offset == 0 && !limit; }
  bool is_empty() const { return limit == 0; }
  /// offset + limit, but at most n: the place whose ties the rule is about.
  std::int64_t end(std::int64_t n) const;
};

Window window_of(const query::BoundQuery& query);

/// Key columns of a ranking, the first deciding. With `packs`, neighbouring columns that fit into 64 bits together
/// become one. On the device if `device` is given; else they may be shared.
std::vector<Keys> make_rank_keys(const std::vector<query::BoundRankTerm>& ranking, const Table& table,
                                 const RowSet& rows, bool packs = true, DeviceQueryState* device = nullptr,
                                 KeyShare* share = nullptr);

/// Returns true if one launch can answer the windows of `count` segments of at most `largest` rows each, with one block
/// reading each segment: by one key column on the device.
bool ranks_at_once(const Window& window, std::int64_t count, std::int64_t largest);

/// The order of an answer that is brought together on the device where all segments are ranked at once.
struct DeviceOrder {
  std::span<const std::int64_t> segments;  ///< in the order of the answer
  const std::uint32_t* places = nullptr;   ///< in device memory: what the answer has for each position
};

/// Ranks each segment by `keys` (over all positions of the row set) and cuts the window out of it. Positions in the
/// order of the answer.
class Ranker {
 public:
  /// No segment will have more than `largest` rows. `runtime` must outlive the ranker.
  Ranker(const Window& window, const ExecutionContext& context, std::int64_t largest)
      : window_(window), context_(context), chooser_(context, largest, context.ranking) {}

  /// With `order`, and if `was_at_once` then says so, the answer is as that says.
  Vector<std::int64_t> rank(const std::vector<Keys>& keys, const Segments& segments, Report& report,
                            const DeviceOrder& order = {});

  /// Returns true if the last call answered all segments in one launch, on a device.
  bool was_at_once() const { return at_once_; }

  /// The path for a segment of n rows.
  const planner::Choice<kernels::TopKAlgorithm>& path(const std::vector<kernels::KeyWidth>& widths, std::int64_t n);

 private:
  /// All segments in one launch, where keys are on the device and that can be; else nothing.
  std::optional<Vector<std::int64_t>> rank_at_once(const std::vector<Keys>& keys, const Segments& segments,
                                                   Report& report, const DeviceOrder& order);
  void rank_segment(const std::vector<Keys>& keys, std::int64_t begin, std::int64_t end, Vector<std::int64_t>& answer,
                    Report& report);

  Window window_;
  const ExecutionContext& context_;
  Chooser<kernels::TopKAlgorithm> chooser_;
  bool at_once_ = false;
};

/// The problem of ranking a table with its filter and its keys fused in, without its data.
kernels::TopKShape fused_shape(const query::BoundQuery& query, const Table& table);

/// The window of the rows that pass the condition of a query that FusedKeys fits, best first. DataError as the filter
/// and the keys would have it, one after the other.
Vector<RowId> rank_fused(const query::BoundQuery& query, const Table& table,
                         const planner::Choice<kernels::TopKAlgorithm>& path, const FusedOptions& options,
                         const ExecutionContext& context, Report& report);

/// The window of the rows that a scan of n rows on the device lets through, best first, by a path that reads the
/// columns once; nothing where the path is none of those, or its guess was wrong. Describes the path in `taken`.
std::optional<Vector<RowId>> rank_scan(const query::BoundQuery& query, const DeviceScan& scan, const Table& table,
                                       const ExecutionContext& context, std::optional<PathDescription>& taken,
                                       Report& report);

/// The window of the rows that a scan of n rows on the device let through, best first. Describes the path in `taken`.
Vector<RowId> rank_scanned(const query::BoundQuery& query, const kernels::cuda::expression::ScannedKeys& keys,
                           std::int64_t n, const ExecutionContext& context, std::optional<PathDescription>& taken,
                           Report& report);

/// Without a ranking: the window of each segment in ascending order.
Vector<std::int64_t> cut(const Window& window, const Segments& segments);

/// The widths of the columns that make_rank_keys gives for terms of these widths.
std::vector<kernels::KeyWidth> packed_widths(const std::vector<kernels::KeyWidth>& widths, bool packs = true);

}  // namespace skyrank::exec
