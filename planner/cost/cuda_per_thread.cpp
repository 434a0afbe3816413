#include <cmath>

#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {
namespace {

constexpr double kMultiprocessors = 132;

/// Seconds for `resident` threads of a device that keep the k best of n rows each in their lists, a change of which by
/// one thread of a warp costs the warp `step`, and for the reduction of these lists.
Cost lists_per_thread(const kernels::TopKShape& shape, const Statistics& statistics, double resident, double step) {
  constexpr double kShrink = 8;
  const double n = static_cast<double>(shape.n);
  const double k = std::clamp(static_cast<double>(shape.k), 1.0, std::max(1.0, n));
  const double threads = std::clamp(n / (kShrink * k), 32.0, resident);
  const double rows = n / threads;
  // Of rows in random order, the i-th enters a full list with probability k / i.
  const double changes = std::min(rows, k) + k * std::log(std::max(1.0, rows / k));
  const double merging = std::ceil(std::log(std::max(kShrink, threads * k / 32768)) / std::log(kShrink));
  const double steps = changes + merging * k * (1 + std::log(kShrink));
  return cuda_cost(shape, statistics,
                   {.launches = merging + 10,
                    .bytes = n * packed_bytes(shape),
                    .elements = 2 * threads * k,
                    .other = {{"list-changes", steps, step}}});
}

}  // namespace

Cost cuda_per_thread(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/) {
  constexpr double kSharedBytes = 228 * 1024;
  constexpr double kThreads = 2048;
  const double k = std::clamp(static_cast<double>(shape.k), 1.0, std::max(1.0, static_cast<double>(shape.n)));
  const double resident = kMultiprocessors * std::clamp(kSharedBytes / (k * element_bytes(shape)), 32.0, kThreads);
  return lists_per_thread(shape, statistics, resident, 0.3e-6 * std::log2(k + 1));
}

Cost cuda_per_thread_registers(const kernels::TopKShape& shape, const Statistics& statistics,
                               const Machine& /*machine*/) {
  constexpr double kThreads = 640;
  return lists_per_thread(shape, statistics, kMultiprocessors * kThreads, 0.3e-6);
}

}  // namespace skyrank::planner::cost
