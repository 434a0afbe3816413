#include "kernels/cuda/indicators/distances.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/run.hpp"
#include "kernels/cuda/indicators/policy.hpp"

// All pairs of points and reference points: a block takes some reference points, and its threads all points.
// Differences are added up in the order of objectives, as on the CPU, and the least of them does not depend on the
// order.
//
// Cost: O(d n r); each point is read once for kReferences reference points.
namespace skyrank::kernels::cuda {
namespace indicators {
namespace {

constexpr unsigned kDistanceThreads = DistancePolicy::kThreads;
constexpr unsigned kReferences = DistancePolicy::kReferences;

/// Points column by column.
struct PointColumns {
  const double* values = nullptr;
  std::size_t size = 0;
};

/// Adds what one objective says to a distance.
template <PointDistance kDistance>
__device__ double with_objective(double distance, double point, double reference) {
  if constexpr (kDistance == PointDistance::ratio) {
    const double ratio = point / reference;
    return ratio > distance ? ratio : distance;
  }
  double difference = point - reference;
  if constexpr (kDistance == PointDistance::difference) return difference > distance ? difference : distance;
  if constexpr (kDistance == PointDistance::squared_worse) difference = difference > 0 ? difference : 0;
  return __dadd_rn(distance, __dmul_rn(difference, difference));
}

template <PointDistance kDistance>
__global__ void __launch_bounds__(kDistanceThreads)
    find_least(PointColumns points, PointColumns references, std::size_t dims, double infinity, double* least) {
  constexpr bool kIsSum = kDistance == PointDistance::squared || kDistance == PointDistance::squared_worse;
  __shared__ double of_warps[kDistanceThreads / kLanes][kReferences];
  const std::size_t first = std::size_t{blockIdx.x} * kReferences;
  double nearest[kReferences];
  for (double& distance : nearest) distance = infinity;
  for (std::size_t i = threadIdx.x; i < points.size; i += kDistanceThreads) {
    double distance[kReferences];
    for (double& own : distance) own = kIsSum ? 0 : -infinity;
    for (std::size_t j = 0; j < dims; ++j) {
      const double value = points.values[j * points.size + i];
#pragma unroll
      for (unsigned r = 0; r < kReferences; ++r) {
        // The last point of the set stands in place of those that are missing.
        const std::size_t reference = first + r < references.size ? first + r : references.size - 1;
        distance[r] = with_objective<kDistance>(distance[r], value, references.values[j * references.size + reference]);
      }
    }
#pragma unroll
    for (unsigned r = 0; r < kReferences; ++r) nearest[r] = distance[r] < nearest[r] ? distance[r] : nearest[r];
  }
#pragma unroll
  for (unsigned r = 0; r < kReferences; ++r) {
    for (int distance = static_cast<int>(kLanes) / 2; distance > 0; distance /= 2) {
      const double other = __shfl_xor_sync(kAllLanes, nearest[r], distance);
      nearest[r] = other < nearest[r] ? other : nearest[r];
    }
    if (threadIdx.x % kLanes == 0) of_warps[threadIdx.x / kLanes][r] = nearest[r];
  }
  __syncthreads();
  if (threadIdx.x >= kReferences || first + threadIdx.x >= references.size) return;
  double found = infinity;
  for (const auto& of_warp : of_warps) found = of_warp[threadIdx.x] < found ? of_warp[threadIdx.x] : found;
  least[first + threadIdx.x] = found;
}

std::vector<double> by_columns(const FrontRows& points) {
  std::vector<double> columns(points.size * points.dims);
  for (std::size_t i = 0; i < points.size; ++i) {
    for (std::size_t j = 0; j < points.dims; ++j) columns[j * points.size + i] = points[i][j];
  }
  return columns;
}

auto kernel_of(PointDistance distance) {
  switch (distance) {
    case PointDistance::squared: return find_least<PointDistance::squared>;
    case PointDistance::squared_worse: return find_least<PointDistance::squared_worse>;
    case PointDistance::difference: return find_least<PointDistance::difference>;
    case PointDistance::ratio: break;
  }
  return find_least<PointDistance::ratio>;
}

}  // namespace
}  // namespace indicators

std::vector<double> least_distances(PointDistance distance, const FrontRows& points, const FrontRows& reference_set,
                                    const Context& context) {
  using indicators::DistancePolicy;
  DeviceContext& device = device_of(context);
  const Lease lease(device);
  const std::vector<double> columns = indicators::by_columns(points);
  const auto device_points = device.allocate<double>(columns.size());
  order_streams(device.stream(), device.transfer().stream());
  device.transfer().upload(device_points.data(), columns.data(), device_points.bytes());
  // Launches take so many reference points at a time that a stop request is heard between them.
  const std::size_t pairs = std::max<std::size_t>(1, points.size * points.dims);
  const std::size_t batch = std::max<std::size_t>(DistancePolicy::kReferences, DistancePolicy::kMaxValues / pairs);
  std::vector<double> least(reference_set.size);
  for (std::size_t first = 0; first < reference_set.size; first += batch) {
    context.check();
    const std::size_t count = std::min(batch, reference_set.size - first);
    const std::vector<double> references = indicators::by_columns({reference_set[first], count, points.dims});
    const auto device_references = device.allocate<double>(references.size());
    const auto found = device.allocate<double>(count);
    order_streams(device.stream(), device.transfer().stream());
    device.transfer().upload(device_references.data(), references.data(), device_references.bytes());
    order_streams(device.transfer().stream(), device.stream());
    launch("find_least", indicators::kernel_of(distance),
           {.blocks = blocks_for(count, DistancePolicy::kReferences), .threads = DistancePolicy::kThreads},
           device.stream(), {device_points.data(), points.size}, {device_references.data(), count}, points.dims,
           std::numeric_limits<double>::infinity(), found.data());
    order_streams(device.stream(), device.transfer().stream());
    device.transfer().download(least.data() + first, found.data(), found.bytes());
  }
  return least;
}

}  // namespace skyrank::kernels::cuda
