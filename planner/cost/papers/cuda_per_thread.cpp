#include <cmath>

#include "planner/cost/cuda_common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {
namespace {

constexpr double kMultiprocessors = 132;

/// The costs of one kind of list, measured on an H200.
struct List {
  double resident = 0;  ///< threads of the device that have one at a time
  double step = 0;      ///< seconds of a warp for a row that one of its threads takes
  double merging = 0;   ///< such steps for each row of a list, to reduce the lists to an eighth
};

/// The k best of n rows: each thread keeps its own, and the lists are reduced.
Cost lists_per_thread(const kernels::TopKShape& shape, const Statistics& statistics, const List& list) {
  constexpr double kShrink = 8;
  constexpr double kLanes = 32;
  constexpr double kBlock = 64;         // threads, at least
  constexpr double kBlockSort = 4608;   // elements of lists that one block sorts,
  constexpr double kSortLaunches = 12;  // and launches for more of them
  const double n = static_cast<double>(shape.n);
  const double k = std::clamp(static_cast<double>(shape.k), 1.0, std::max(1.0, n));
  const double threads = std::clamp(n / (kShrink * k), kBlock, list.resident);
  const double rows = n / threads;
  // The i-th of rows in random order enters a full list with probability k / i. While that is likely for one of a
  // warp's threads, each row costs the warp a step.
  const double likely = kLanes * k;
  const double random = std::min(rows, likely) + likely * std::log(std::max(1.0, rows / likely));
  const double filled = std::min(rows, k);
  // In ascending order, or of rows that tie, none enters a full list; in descending order all do.
  const double in_order = statistics.order < 0 ? rows : filled;
  const double sorted = std::pow(std::abs(statistics.order), 8);
  const double changes = filled + (1 - statistics.ties) * (random + sorted * (in_order - random) - filled);
  const double rounds = std::ceil(std::log(std::max(kShrink, threads * k / 32768)) / std::log(kShrink));
  return cuda_cost(
      shape, statistics,
      {.launches = rounds + (threads * k > kBlockSort ? kSortLaunches : 1),
       .bytes = n * packed_bytes(shape),
       .elements = 2 * threads * k,
       .other = {{"list-changes", changes, list.step}, {"list-merging", rounds * list.merging * k, list.step}}});
}

}  // namespace

Cost cuda_per_thread(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                     const Values& /*values*/) {
  constexpr double kSharedBytes = 228 * 1024;
  constexpr double kThreads = 2048;
  const double k = std::clamp(static_cast<double>(shape.k), 1.0, std::max(1.0, static_cast<double>(shape.n)));
  const double resident = kMultiprocessors * std::clamp(kSharedBytes / (k * element_bytes(shape)), 32.0, kThreads);
  const double level = packed_bytes(shape) == 4 ? 0.08e-6 : 0.12e-6;
  return lists_per_thread(shape, statistics, {.resident = resident, .step = level * std::log2(k + 1), .merging = 16});
}

Cost cuda_per_thread_registers(const kernels::TopKShape& shape, const Statistics& statistics,
                               const Machine& /*machine*/, const Values& /*values*/) {
  // Fitted up to k = 32. What entries in local memory cost beyond was not measured.
  constexpr double kThreads = 640;
  const double k = std::clamp(static_cast<double>(shape.k), 1.0, 256.0);
  const double entry = packed_bytes(shape) == 4 ? 0.047e-6 : 0.17e-6;
  return lists_per_thread(shape, statistics,
                          {.resident = kMultiprocessors * kThreads, .step = entry * k, .merging = 2});
}

}  // namespace skyrank::planner::cost
