#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/common/column_scan.hpp"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/device/run.hpp"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/expression/loaded.hpp"
#include "kernels/cuda/expression/scan_rows.cuh"
#include "kernels/cuda/expression/score_kind.cuh"
#include "kernels/cuda/topk/finish.hpp"
#include "kernels/papers/cuda/topk/bitonic/bitonic.cuh"
#include "kernels/papers/cuda/topk/bitonic/fused.cuh"

// cuda-bitonic with the filter and the ranking function in its first kernel, FusedSortReducer (Shanbhag, Pirk, Madden,
// SIGMOD 2018, section 5): neither the rows that pass nor their keys are written to memory. Its sources are scans of
// columns, and programs.
namespace skyrank::kernels::cuda::topk {
namespace {

using namespace expression;  // this file joins a selection with what reads the columns

/// Sets values[i], where `i` is no constant, so that the values stay in registers.
template <class T, int kCount>
__device__ void set_value(T (&values)[kCount], int i, T value) {
#pragma unroll
  for (int j = 0; j < kCount; ++j) values[j] = j == i ? value : values[j];
}

/// Rows of a scan: the values of two rows of a thread are under way together where there are registers for that.
template <class Key>
struct ScannedSource {
  ReadScan scan;

  template <int kCount>
  __device__ unsigned look(const network::SpacedRows& rows, Key (&keys)[kCount]) const {
    constexpr unsigned kFew = ColumnScan::kMaxColumns / 2;
    return scan.count <= static_cast<int>(kFew) ? look_at<kFew, 2>(rows, keys)
                                                : look_at<ColumnScan::kMaxColumns, 1>(rows, keys);
  }

 private:
  template <unsigned kColumns, int kTogether, int kCount>
  __device__ unsigned look_at(const network::SpacedRows& rows, Key (&keys)[kCount]) const {
    static_assert(kCount % kTogether == 0);
    unsigned taking = 0;
#pragma unroll 1
    for (int first = 0; first < kCount; first += kTogether) {
      std::size_t some[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) some[i] = min(rows[first + i], rows.end - 1);
      ScannedGroup<Key, 1> scanned[kTogether];
      look_at_rows<kColumns>(scan, some, scanned);
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        set_value(keys, first + i, key_of_score(scan, scanned[i].scores.bits[0], scanned[i].is_null(0)));
        taking |= (rows.has(first + i) && scanned[i].passes(0) ? 1u : 0u) << (first + i);
      }
    }
    return taking;
  }
};

/// Rows for which a program is true, by the score of another.
struct ComputedSource {
  Expression condition;  ///< no instructions where all rows pass
  Expression score;
  ScoreKind score_kind;
  unsigned* failed;  ///< set where a row fails

  // A row at a time, as the instructions of several machines would come from memory.
  template <int kCount>
  __device__ unsigned look(const network::SpacedRows& rows, std::uint64_t (&keys)[kCount]) const {
    unsigned taking = 0;
#pragma unroll 1
    for (int i = 0; i < kCount; ++i) {
      std::uint64_t key = 0;
      if (!rows.has(i) || !look_at(rows[i], key)) continue;
      set_value(keys, i, key);
      taking |= 1u << i;
    }
    return taking;
  }

 private:
  __device__ bool look_at(std::size_t row, std::uint64_t& key) const {
    std::uint64_t slots[kMaxStacked];
    StackMachine machine(slots, 1);
    RowValue value;
#pragma unroll 1
    for (unsigned part = condition.count > 0 ? 0 : 1; part < 2; ++part) {
      value = machine.run(part == 0 ? condition : score, static_cast<std::int64_t>(row));
      if (value.failed) *failed = 1;
      if (part == 0 && !(value.valid && value.bits != 0)) return false;
    }
    key = score_kind.key(value.bits, value.valid);
    return true;
  }
};

std::size_t bytes_of_row(const ColumnScan& scan) {
  std::size_t bytes = 0;
  for (int c = 0; c < scan.count; ++c) bytes += bytes_of(scan.columns[c].stored);
  return bytes;
}

std::size_t bytes_of_row(const ComputedScan& scan) {
  std::size_t bytes = 0;
  for (const StoredColumn& column : scan.program.columns) bytes += bytes_of(column.stored);
  return bytes;
}

/// The k best rows of a source, whose rows have so many bytes.
template <class E, class Source>
TopKSolution best_of_source(const ScanProblem& problem, const Source& source, std::size_t row_bytes,
                            const Context& context, DeviceContext& device) {
  using Element = typename E::Element;
  const Range range("bitonic top-k of a scan");
  const std::size_t k = std::min(problem.k, problem.n);
  const E elements{.keys = nullptr, .complement = problem.ties == TieRule::last ? E::kRowMask : Element{0}};
  TopKSolution solution;
  Stages stages(device);
  stages.loaded();
  auto chosen = device.allocate<Element>(k);
  const auto counter = device.allocate<unsigned long long>(1);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(counter.data(), 0, counter.bytes(), device.stream()));
  const Work work = network::least_of_source(device, source, problem.n, elements, k, chosen.data(), counter.data());
  unsigned long long taken = 0;
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(&taken, counter.data(), sizeof(taken), cudaMemcpyDeviceToHost, device.stream()));
  device.synchronize();
  solution.rows.resize(std::min<std::size_t>(k, taken));
  if (solution.rows.empty()) {
    stages.solved();
  } else {
    const Buffer<RowId> rows = rows_of(elements, chosen.data(), solution.rows.size(), device);
    stages.solved();
    device.transfer().download(solution.rows.data(), rows.data(), rows.bytes());
  }
  solution.times = stages.finished();
  if (context.count_work) {
    solution.work = work;
    solution.work.bytes_read += problem.n * row_bytes;
    solution.work.candidates = taken;
  }
  return solution;
}

template <class E>
TopKSolution best_of_columns(const ScanProblem& problem, const Context& context) {
  DeviceContext& device = device_of(context);
  const Lease lease(device);
  const ScannedSource<typename E::Key> source{read_form(*problem.scan)};
  return best_of_source<E>(problem, source, bytes_of_row(*problem.scan), context, device);
}

std::optional<TopKSolution> best_of_programs(const ScanProblem& problem, const Context& context) {
  const ComputedScan& scan = *problem.computed;
  DeviceContext& device = device_of(context);
  const Lease lease(device);
  const LoadedExpression loaded(scan.program, device);
  const Stored result = scan.program.result;
  const ComputedSource source{.condition = loaded.part(scan.of_score, scan.program.instructions.size()),
                              .score = loaded.part(0, scan.of_score),
                              .score_kind = {result == Stored::float64, result == Stored::int64, scan.high},
                              .failed = loaded.failed()};
  TopKSolution solution = best_of_source<LongElements>(problem, source, bytes_of_row(scan), context, device);
  if (loaded.any_failed()) return std::nullopt;
  return solution;
}

/// Returns true unless a parameter says that the filter runs before the network, or that the network lacks an
/// optimisation that FusedSortReducer has.
bool is_fused(const ParameterValues& parameters) {
  constexpr const char* kNeeded[] = {"fused",   "shared_memory",     "merged_operators",     "combined_steps",
                                     "padding", "chunk_permutation", "reassigned_partitions"};
  return std::ranges::all_of(kNeeded, [&](const char* name) { return parameters[name] != 0; });
}

}  // namespace

std::optional<TopKSolution> best_of_bitonic_scan(const ScanProblem& problem, const ParameterValues& parameters,
                                                 const Context& context) {
  context.check();
  const bool many = std::min(problem.k, problem.n) > kLargestBitonicK;
  if (!is_fused(parameters) || many || problem.k == 0 || problem.ties == TieRule::all) return std::nullopt;
  if (problem.computed != nullptr) return best_of_programs(problem, context);
  if (!problem.scan->has_short_keys()) return best_of_columns<LongElements>(problem, context);
  if (problem.n > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return best_of_columns<ShortElements>(problem, context);
}

}  // namespace skyrank::kernels::cuda::topk
