#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include <skyrank/partial.hpp>
#include <skyrank/table.hpp>

#include "kernels/common/transfers.hpp"
#include "kernels/cuda/runtime/scope.hpp"

namespace skyrank::exec {

/// Rows of a table that a GPU takes in its turn, pinned to it.
struct TurnPart {
  RowRange rows;
  Table table;
};

/// Makes a part whose columns go to the selected device when a query needs them, and leave it with the part.
TurnPart turn_part(const Table& table, RowRange rows);

/// Copies the columns of a part to a GPU while another part is computed there, on a thread of its own, which a copy
/// from pageable memory blocks. Joins it when it ends.
class Prefetch {
 public:
  /// Begins. What cannot be copied now, for want of memory or of threads, the query copies when it gets there. Bytes
  /// count for `tally`.
  Prefetch(const TurnPart& part, const std::vector<int>& columns, const kernels::cuda::SelectedDevice& device,
           kernels::TransferTally& tally, const std::stop_token& stop);
  /// Waits until all is copied that can be.
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

 private:
  std::optional<std::thread> thread_;
};

}  // namespace skyrank::exec
