#include "kernels/cuda/topk/partitions.hpp"

#include <limits>

#include "kernels/common/transfers.hpp"
#include "kernels/cuda/device/context.hpp"
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

}  // namespace

Vector<RowId> best_of_partitions(const PartitionProblem& problem) {
  const Range range("top-k of partitions");
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto offsets = device.allocate<std::size_t>(problem.bounds.size());
  static_assert(sizeof(std::size_t) == sizeof(std::int64_t));
  SKYRANK_CUDA_CALL(
      cudaMemcpyAsync(offsets.data(), problem.bounds.data(), offsets.bytes(), cudaMemcpyHostToDevice, device.stream()));
  if (TransferTally* const tally = current_tally()) tally->sent(offsets.bytes());
  const Segments segments{.count = problem.bounds.size() - 1, .rows = 0, .offsets = offsets.data()};
  const auto there = device.allocate<RowId>(segments.count * problem.k);
  if (problem.keys.width == KeyWidth::bytes8) {
    select<LongElements>(problem, segments, there.data(), device);
  } else if (problem.bounds.back() > std::numeric_limits<std::uint32_t>::max()) {
    select<ManyElements>(problem, segments, there.data(), device);
  } else {
    select<ShortElements>(problem, segments, there.data(), device);
  }
  device.synchronize();
  Vector<RowId> rows(there.size());
  device.transfer().download(rows.data(), there.data(), there.bytes());
  return rows;
}

}  // namespace skyrank::kernels::cuda::topk
