#include "kernels/cuda/topk/partitions.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>

#include "kernels/common/transfers.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/map.cuh"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/topk/batched/batched.hpp"

namespace skyrank::kernels::cuda::topk {
namespace {

static_assert(kMaxOfPartition <= kMaxOfSegment<LongElements> && kMaxOfPartition <= kMaxOfSegment<ManyElements> &&
              kMaxOfPartition <= kMaxOfSegment<ShortElements>);

template <class E>
void select(const PartitionProblem& problem, const Segments& segments, RowId* rows, DeviceContext& device) {
  using Element = typename E::Element;
  const E elements{problem.keys.as<typename E::Key>(), problem.ties == TieRule::last ? E::kRowMask : Element{0}};
  least_of_segments(elements, segments, problem.k, rows, device);
}

/// The rows that were found, k for each partition, and where those of the answer go.
struct Found {
  const RowId* rows;
  std::size_t k;
  std::size_t partitions;
  const std::int64_t* order;   ///< partitions by their place in the answer
  const std::int64_t* begins;  ///< in that order: their first rows in the answer, and the end
  std::size_t offset;
  const std::uint32_t* places;
};

__global__ void __launch_bounds__(kMapThreads) write_answer(const Found found, RowId* answer) {
  for_all(found.partitions * found.k, [&](std::size_t i) {
    const std::size_t partition = i / found.k;
    const std::size_t rank = i % found.k;
    if (rank < found.offset) return;
    const auto to = static_cast<std::size_t>(found.begins[partition]) + rank - found.offset;
    if (to >= static_cast<std::size_t>(found.begins[partition + 1])) return;
    const RowId row = found.rows[static_cast<std::size_t>(found.order[partition]) * found.k + rank];
    answer[to] = found.places == nullptr ? row : RowId{found.places[row]};
  });
}

/// Copies to the device what this thread has, in the order of the stream.
template <class T>
Buffer<std::remove_const_t<T>> sent(std::span<T> values, DeviceContext& device) {
  auto there = device.allocate<std::remove_const_t<T>>(values.size());
  SKYRANK_CUDA_CALL(
      cudaMemcpyAsync(there.data(), values.data(), there.bytes(), cudaMemcpyHostToDevice, device.stream()));
  if (TransferTally* const tally = current_tally()) tally->sent(there.bytes());
  return there;
}

/// The partitions in the order of the answer.
Vector<std::int64_t> order_of(const PartitionProblem& problem) {
  Vector<std::int64_t> order(problem.order.begin(), problem.order.end());
  if (!order.empty()) return order;
  order.resize(problem.bounds.size() - 1);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// The first places of the partitions in the answer, and the end.
Vector<std::int64_t> begins_of(const PartitionProblem& problem, const Vector<std::int64_t>& order) {
  Vector<std::int64_t> begins(order.size() + 1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t rows = problem.bounds[order[i] + 1] - problem.bounds[order[i]];
    const auto end = std::min(static_cast<std::int64_t>(problem.k), rows);
    begins[i + 1] = begins[i] + std::max<std::int64_t>(end - static_cast<std::int64_t>(problem.offset), 0);
  }
  return begins;
}

}  // namespace

Vector<RowId> best_of_partitions(const PartitionProblem& problem) {
  const Range range("top-k of partitions");
  const Vector<std::int64_t> order = order_of(problem);
  const Vector<std::int64_t> begins = begins_of(problem, order);
  if (begins.back() == 0) return {};
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  static_assert(sizeof(std::size_t) == sizeof(std::int64_t));
  const auto bounds = sent(problem.bounds, device);
  const Segments segments{
      .count = order.size(), .rows = 0, .offsets = reinterpret_cast<const std::size_t*>(bounds.data())};
  const auto there = device.allocate<RowId>(segments.count * problem.k);
  if (problem.keys.width == KeyWidth::bytes8) {
    select<LongElements>(problem, segments, there.data(), device);
  } else if (problem.bounds.back() > std::numeric_limits<std::uint32_t>::max()) {
    select<ManyElements>(problem, segments, there.data(), device);
  } else {
    select<ShortElements>(problem, segments, there.data(), device);
  }
  const auto order_there = sent(std::span<const std::int64_t>(order), device);
  const auto begins_there = sent(std::span<const std::int64_t>(begins), device);
  const Found found{.rows = there.data(),
                    .k = problem.k,
                    .partitions = order.size(),
                    .order = order_there.data(),
                    .begins = begins_there.data(),
                    .offset = problem.offset,
                    .places = problem.places};
  const auto answer = device.allocate<RowId>(static_cast<std::size_t>(begins.back()));
  launch("write_answer", write_answer, few_each(there.size(), device), device.stream(), found, answer.data());
  device.synchronize();
  Vector<RowId> rows(answer.size());
  device.transfer().download(rows.data(), answer.data(), answer.bytes());
  return rows;
}

}  // namespace skyrank::kernels::cuda::topk
