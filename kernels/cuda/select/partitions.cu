#include "kernels/cuda/select/partitions.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "kernels/common/transfers.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/select/policy.hpp"
#include "kernels/cuda/select/row_selection.cuh"

// A partition is a row of keys with a length of its own, so its warp or block selects as of a row of a matrix.
namespace skyrank::kernels::cuda::select {
namespace {

static_assert(kMaxOfPartition <= RowPolicy::kMaxWanted);

/// A partition that has rows of the answer.
struct Stretch {
  std::int64_t begin;    ///< its first row
  std::uint32_t rows;    ///< its rows
  std::uint32_t answer;  ///< the place in the answer of its best row, had none been left out; may be below 0 then
};

/// The ranking that all stretches have in common.
template <class Key>
struct Ranking {
  const Key* keys;
  std::uint32_t k;
  std::uint32_t offset;
  bool last_ties;  ///< the last of equal keys are the best
  const std::uint32_t* places;
  RowId* answer;
};

template <class N, class Shape>
__global__ void __launch_bounds__(RowPolicy::kBlockThreads)
    select_from_stretches(const Stretch* stretches, std::size_t count, Ranking<typename N::Stored> ranking,
                          KeyOrder<typename N::Key> order) {
  using Selection = RowSelection<N, Shape>;
  constexpr unsigned kRowsOfBlock = RowPolicy::kBlockThreads / Shape::kThreads;
  auto& shared = dynamic_shared<typename Selection::Shared>()[threadIdx.x / Shape::kThreads];
  const std::size_t i = std::size_t{blockIdx.x} * kRowsOfBlock + threadIdx.x / Shape::kThreads;
  if (i >= count) return;
  const Stretch mine = stretches[i];
  Selection selection({ranking.keys + mine.begin, order, ranking.last_ties}, mine.rows, shared);
  selection.select(min(mine.rows, ranking.k), [&](unsigned rank, unsigned column) {
    if (rank < ranking.offset) return;
    const std::int64_t row = mine.begin + column;
    ranking.answer[static_cast<std::uint32_t>(mine.answer + rank)] =
        ranking.places == nullptr ? row : RowId{ranking.places[row]};
  });
}

template <class Key>
constexpr Element kElementOf = sizeof(Key) == 1   ? Element::uint8
                               : sizeof(Key) == 2 ? Element::uint16
                               : sizeof(Key) == 4 ? Element::uint32
                                                  : Element::uint64;

/// The stretches by who selects from them.
struct Stretches {
  std::array<Vector<Stretch>, kRowKernels> of;
  std::int64_t answers = 0;  ///< rows of the answer
};

Stretches stretches_of(const PartitionProblem& problem, std::size_t multiprocessors) {
  const std::size_t count = problem.bounds.size() - 1;
  const auto width = static_cast<std::size_t>(problem.keys.width);
  const auto offset = static_cast<std::int64_t>(problem.offset);
  const auto kernel_of = [&](std::int64_t rows) {
    const std::size_t bytes = static_cast<std::size_t>(rows) * width;
    return static_cast<std::size_t>(RowPolicy::kernel_of(count, bytes, problem.k, multiprocessors));
  };
  Stretches stretches;
  stretches.of[kernel_of(problem.bounds.back() / static_cast<std::int64_t>(count))].reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t partition = problem.order.empty() ? i : static_cast<std::size_t>(problem.order[i]);
    const std::int64_t begin = problem.bounds[partition];
    const std::int64_t rows = problem.bounds[partition + 1] - begin;
    const std::int64_t wanted = std::min(static_cast<std::int64_t>(problem.k), rows);
    if (wanted <= offset) continue;
    stretches.of[kernel_of(rows)].push_back({.begin = begin,
                                             .rows = static_cast<std::uint32_t>(rows),
                                             .answer = static_cast<std::uint32_t>(stretches.answers - offset)});
    stretches.answers += wanted - offset;
  }
  return stretches;
}

template <class N, class Shape>
void launch_selection(const Vector<Stretch>& stretches, const Ranking<typename N::Stored>& ranking,
                      DeviceContext& device) {
  if (stretches.empty()) return;
  auto there = device.allocate<Stretch>(stretches.size());
  SKYRANK_CUDA_CALL(
      cudaMemcpyAsync(there.data(), stretches.data(), there.bytes(), cudaMemcpyHostToDevice, device.stream()));
  if (TransferTally* const tally = current_tally()) tally->sent(there.bytes());
  constexpr std::size_t kRowsOfBlock = RowPolicy::kBlockThreads / Shape::kThreads;
  launch("select_from_stretches", select_from_stretches<N, Shape>,
         {.blocks = blocks_for(stretches.size(), kRowsOfBlock),
          .threads = RowPolicy::kBlockThreads,
          .shared_bytes = kRowsOfBlock * sizeof(typename RowSelection<N, Shape>::Shared)},
         device.stream(), there.data(), stretches.size(), ranking,
         make_key_order<typename N::Key>(kElementOf<typename N::Stored>, false, false));
}

template <class Key>
void select(const PartitionProblem& problem, const Stretches& stretches, RowId* answer, DeviceContext& device) {
  using N = Numbers<Key, Float::none>;
  const Ranking<Key> ranking{.keys = problem.keys.as<Key>(),
                             .k = static_cast<std::uint32_t>(problem.k),
                             .offset = static_cast<std::uint32_t>(problem.offset),
                             .last_ties = problem.ties == TieRule::last,
                             .places = problem.places,
                             .answer = answer};
  for (std::size_t kernel = 0; kernel < kRowKernels; ++kernel) {
    RowPolicy::with_shape(static_cast<RowKernel>(kernel), [&]<class Shape>(Shape) {
      launch_selection<N, Shape>(stretches.of[kernel], ranking, device);
    });
  }
}

}  // namespace

Vector<RowId> best_of_partitions(const PartitionProblem& problem) {
  const Range range("top-k of partitions");
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const Stretches stretches = stretches_of(problem, device.properties().multiprocessors);
  if (stretches.answers == 0) return {};
  const auto answer = device.allocate<RowId>(static_cast<std::size_t>(stretches.answers));
  switch (problem.keys.width) {
    case KeyWidth::bytes1: select<std::uint8_t>(problem, stretches, answer.data(), device); break;
    case KeyWidth::bytes2: select<std::uint16_t>(problem, stretches, answer.data(), device); break;
    case KeyWidth::bytes4: select<std::uint32_t>(problem, stretches, answer.data(), device); break;
    case KeyWidth::bytes8: select<std::uint64_t>(problem, stretches, answer.data(), device); break;
  }
  device.synchronize();
  Vector<RowId> rows(answer.size());
  device.transfer().download(rows.data(), answer.data(), answer.bytes());
  return rows;
}

}  // namespace skyrank::kernels::cuda::select
