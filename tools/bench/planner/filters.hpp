#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/column_scan.hpp"
#include "kernels/cuda/device/array.hpp"
#include "kernels/registry.hpp"
#include "tools/bench/data/data.hpp"

// Filters of a ranking, as the engine fuses them: which rows pass is settled by a hash, or by a column of such values.
namespace skyrank::bench {

/// On the CPU: a column of keys behind a filter.
class FilteredKeys final : public kernels::KeySource {
 public:
  /// Filters the n keys of a column so that a `share` of them passes.
  FilteredKeys(const kernels::KeyColumn& column, std::size_t n, double share);

  kernels::KeyWidth width() const override { return column_.width; }
  bool has_filter() const override { return true; }
  bool can_filter_late() const override { return true; }
  std::unique_ptr<kernels::KeyReader> reader() const override;

 private:
  class Reader;

  kernels::KeyColumn column_;
  std::vector<std::uint8_t> taking_;
};

/// On a GPU, which scans columns: one of floats, whose keys these are, and one that a share of the rows have the lesser
/// values of. Both lie on the device.
class ScannedFloats {
 public:
  /// Makes the columns of a cell with `where` from its data. Throws DataError unless the data are floats.
  ScannedFloats(const Data& data, const Cell& cell);

  /// Bytes of one row in both columns, and in the one that is ranked.
  static double row_bytes(const Cell& cell);
  static double score_bytes(const Cell& cell);

  /// Runs an algorithm as the engine does: in one pass if it can, otherwise on keys of the rows that pass. `problem`
  /// says how many rows there are, and which are wanted.
  kernels::TopKSolution run(const kernels::TopKAlgorithm& algorithm, const kernels::TopKProblem& problem,
                            const kernels::ParameterValues& parameters, const kernels::Context& context) const;

 private:
  kernels::cuda::DeviceArray values_;
  kernels::cuda::DeviceArray filter_;
  kernels::ColumnScan scan_;
};

}  // namespace skyrank::bench
