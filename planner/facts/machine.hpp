#pragma once

#include <limits>

namespace skyrank::planner {

class PriceList;

/// The machine as cost models see it.
struct Machine {
  int threads = 1;
  bool cuda = false;
  /// Bytes that a query may take on the host. Counting enforces the limit, whatever is predicted: if no path fits, the
  /// one that needs least memory is tried.
  double host_bytes = std::numeric_limits<double>::infinity();
  double device_bytes = std::numeric_limits<double>::infinity();  ///< memory of the GPU
  double cuda_start = 0;              ///< seconds to start a GPU, or a query's share of them; part of every path there
  const PriceList* prices = nullptr;  ///< null: those of the built-in profile
};

}  // namespace skyrank::planner
