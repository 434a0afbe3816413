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
#include "engine/operators/segments.hpp"
#include "engine/operators/window.hpp"
#include "engine/plan/kernel_path.hpp"

namespace skyrank::exec {

/// Makes the key columns of a ranking, the most significant first. With `packs`, neighbouring columns that fit into 64
/// bits together become one. The keys are on the device if `device` is given; else they may come from `share`. Terms
/// that are measures are ranked by the columns `measures` of the rows.
std::vector<Keys> make_rank_keys(const std::vector<query::BoundRankTerm>& ranking, const Table& table,
                                 const RowSet& rows, bool packs = true, DeviceQueryState* device = nullptr,
                                 KeyShare* share = nullptr, std::span<const Column> measures = {});

/// Returns true if one launch can rank `count` segments of at most `largest` rows each, by one key column on the
/// device. Each block reads one segment.
bool ranks_at_once(const Window& window, std::int64_t count, std::int64_t largest);

/// Ranks each segment by `keys`, which cover all positions of the row set, and cuts the window out of it.
class Ranker {
 public:
  /// No segment will have more than `largest` rows. `context` must outlive the ranker.
  Ranker(const Window& window, const ExecutionContext& context, std::int64_t largest)
      : window_(window), context_(context), chooser_(context, largest, context.ranking) {}

  /// Returns positions in the order of the answer. If `was_at_once` is true afterwards, the answer has been gathered by
  /// `order`.
  Vector<std::int64_t> rank(const std::vector<Keys>& keys, const Segments& segments, Report& report,
                            const DeviceOrder& order = {});

  /// Returns true if the last call answered all segments in one launch, on a device.
  bool was_at_once() const { return at_once_; }

  /// The path for a segment of n rows.
  const planner::Choice<kernels::TopKAlgorithm>& path(const std::vector<kernels::KeyWidth>& widths, std::int64_t n);

 private:
  /// Ranks all segments in one launch; returns nothing if keys are not on the device, or the segments do not allow it.
  std::optional<Vector<std::int64_t>> rank_at_once(const std::vector<Keys>& keys, const Segments& segments,
                                                   Report& report, const DeviceOrder& order);
  void rank_segment(const std::vector<Keys>& keys, std::int64_t begin, std::int64_t end, Vector<std::int64_t>& answer,
                    Report& report);
  kernels::TopKShape shape(const std::vector<kernels::KeyWidth>& widths, std::int64_t n) const;

  Window window_;
  const ExecutionContext& context_;
  Chooser<kernels::TopKAlgorithm> chooser_;
  bool at_once_ = false;
};

/// The problem of ranking a table with its filter and its keys fused in, without its data.
kernels::TopKShape fused_shape(const query::BoundQuery& query, const Table& table);

/// Returns the window of the rows that pass the condition, best first, for a query that FusedKeys fits. Throws the
/// DataError that the filter, and then the keys, would throw.
Vector<RowId> rank_fused(const query::BoundQuery& query, const Table& table,
                         const planner::Choice<kernels::TopKAlgorithm>& path, const FusedOptions& options,
                         const ExecutionContext& context, Report& report);

/// Returns the window of the rows that pass a scan on the device, best first, by a path that reads the columns once.
/// Returns nothing if the path is not one of those, or its guess was wrong. Describes the path in `taken`.
std::optional<Vector<RowId>> rank_scan(const query::BoundQuery& query, const DeviceScan& scan, const Table& table,
                                       const ExecutionContext& context, std::optional<PathDescription>& taken,
                                       Report& report);

/// Returns the window of each segment in ascending order, for queries without a ranking.
Vector<std::int64_t> cut(const Window& window, const Segments& segments);

/// The widths of the columns that make_rank_keys gives for terms of these widths.
std::vector<kernels::KeyWidth> packed_widths(const std::vector<kernels::KeyWidth>& widths, bool packs = true);

}  // namespace skyrank::exec
