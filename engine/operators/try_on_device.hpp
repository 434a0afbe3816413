#pragma once

#include <optional>
#include <string>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/operators/execution.hpp"
#include "engine/runtime/device_values.hpp"
#include "kernels/cuda/runtime/failure.hpp"

namespace skyrank::exec {

/// Calls `make`, which groups or partitions rows on the GPU. Where it returns nothing, or the GPU lacks memory, notes
/// why under `rule`, copies `columns` to the host, and returns nothing.
template <class Make>
auto try_on_device(Execution& execution, const Table& table, const std::vector<int>& columns, Rule rule,
                   const Make& make) -> decltype(make()) {
  std::string why = "the codes of a row take more than 64 bits, or the rows are more than 32 bits can number";
  try {
    if (auto made = make()) return made;
  } catch (const kernels::cuda::OutOfMemory&) {
    why = "the GPU has too little memory left to sort the rows";
  }
  execution.record.rules.left_out(rule, why);
  for (const int column : columns) copy_to_host(table.column(column).data());
  return std::nullopt;
}

}  // namespace skyrank::exec
