#include <algorithm>
#include <cstdint>

#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/expression/loaded.hpp"
#include "kernels/cuda/expression/machine_rows.cuh"
#include "kernels/cuda/expression/scan_rows.cuh"
#include "kernels/cuda/expression/score_kind.cuh"
#include "kernels/cuda/topk/sampled_threshold/scan_selection.cuh"
#include "kernels/cuda/topk/sampled_threshold/scan_threshold.hpp"

// cuda-sampled-threshold over a filter and a score that are programs: these run for several rows a thread, in one pass
// over the columns, and what is neither filtered out nor beyond the threshold is a candidate. Keys are of 64 bits: of
// floats those of float_key, of integers these themselves in their order.
namespace skyrank::kernels::cuda::topk {
namespace {

using namespace expression;  // this file joins a selection with what reads the columns

inline constexpr unsigned kSampleOfScoresThreads = 256;

/// The rows, one at a time.
struct ComputedRows {
  using Kind = LongElements;
  using Key = Kind::Key;
  using Element = Kind::Element;

  Expression condition;  ///< none where there are no instructions
  Expression score;
  ScoreKind score_kind;
  std::size_t n;
  Kind kind;

  __device__ std::size_t size() const { return n; }
  // The machine is there once: a kernel's instructions come from memory too, and those of a machine are many.
  __device__ Element at(std::size_t row) const {
    std::uint64_t slots[StepProgram::kMaxStacked];
    StackMachine machine(slots, 1);
    RowValue value;
#pragma unroll 1
    for (unsigned part = condition.count > 0 ? 0 : 1; part < 2; ++part) {
      value = machine.run(part == 0 ? condition : score, static_cast<std::int64_t>(row));
      if (part == 0 && !(value.valid && value.bits != 0)) return kind.of(kNullKey<Key>, row);
    }
    return kind.of(score_kind.key(value.bits, value.valid), row);
  }
};

/// The source of find_threshold's sample: elements that were sampled before.
struct SampledScores {
  using Kind = LongElements;
  using Key = Kind::Key;
  using Element = Kind::Element;

  const Element* elements;

  __device__ Element sampled(std::size_t i) const { return elements[i]; }
};

/// Samples `count` rows. A machine for one row takes many instructions, for which all multiprocessors are better than
/// those that find the threshold.
__global__ void __launch_bounds__(kSampleOfScoresThreads)
    sample_scores(const __grid_constant__ ComputedRows rows, ComputedRows::Element* elements, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * kSampleOfScoresThreads + threadIdx.x;
  if (i < count) elements[i] = rows.at(sampled_place(i, count, rows.size()));
}

/// Returns the tiles of this block, of `tiles` of all rows. Blocks take turns, the last tiles before the others: of
/// sorted rows, in either direction, few tiles have all candidates, and those take long, so they come first.
__device__ inline MachineTiles tiles_of_block(unsigned tiles) {
  return {blockIdx.x, gridDim.x, tiles, gridDim.x, tiles};
}

/// Keeps the candidates. The program leaves a score for each row, and, if there is a condition, its truth. Few scores
/// are at or below the threshold: the condition is computed, and its own columns are read, only if a score of the warp
/// is; the same holds for a square root that the score ends with. But if rows may fail, all conditions have to be
/// computed.
template <class Form>
__global__ void __launch_bounds__(kMachineThreads, kMachineBlocks)
    keep_computed(const __grid_constant__ StepProgram program, const __grid_constant__ MachineLayout layout,
                  unsigned all_tiles, const __grid_constant__ ComputedRows rows, unsigned* failed,
                  const __grid_constant__ ScanTarget<ComputedRows::Element> target) {
  using Element = ComputedRows::Element;
  constexpr unsigned kRows = Form::kRows;
  __shared__ Element buffers[kMachineThreads / kLanes][ScanCollector<Element>::kHeld];
  __shared__ KnotsOfBlock<Element> knots;
  const DeviceRows all{rows.n, nullptr};
  RowMachine<Form> machine(program, layout, dynamic_shared<uint4>());
  const MachineTiles tiles = tiles_of_block(all_tiles);
  fetch_first(machine, layout, all, tiles);  // while the threshold is being found: the columns were there before
  wait_for_previous();
  let_next_start();
  using Threshold = Wanted<ComputedRows::Kind>;
  const Threshold threshold{target.guess->threshold};
  const TieLimit ties = tie_limit(rows.kind, threshold);
  const QuotientBound quotients(with_bits_of<double>(rows.score_kind.range(threshold.most(), true).bound()),
                                rows.score_kind.high);
  // Made again where tiles with ties begin or end, as there are too few registers to keep two.
  const auto range_of = [&](bool may_tie) {
    const std::uint64_t most = Threshold{target.guess->threshold}.most();
    ScoreRange<std::uint64_t> range = rows.score_kind.range(most, may_tie);
    if (!Form::kFails && program.root_later) range.square();
    if (!Form::kFails && program.quotient_later) {
      range.divide(quotients, with_bits_of<double>(rows.score_kind.range(most, true).bound()), may_tie);
    }
    return range;
  };
  bool may_tie = true;
  ScoreRange<std::uint64_t> range = range_of(may_tie);
  const bool filters = rows.condition.count > 0;
  ScanCollector<Element> found{buffers[threadIdx.x / kLanes], sink_of(target, threshold.holds_all(), knots)};
  const auto scores_of = [&](std::uint64_t(&scores)[kRows]) {
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) scores[i] = machine.number().bits(i);
  };
  // Bits of a thread's rows that may be wanted by what there is of their scores before the rest of the program; none
  // where no row of the warp may.
  const auto look_first = [&] {
    std::uint64_t scores[kRows];
    scores_of(scores);
    if (program.quotient_later) {
      float divisors[kRows];
      machine.memory().take_divisors(divisors);
      return range.quotients_within(quotients, scores, divisors);
    }
    return __any_sync(kAllLanes, range.may_hold_any(scores)) ? range.bits_within(scores) : 0u;
  };
  for_rows_fetched(machine, layout, all, tiles, [&](std::size_t tile, std::size_t place) {
    const std::size_t last = min(tile + Form::kTile, rows.n) - 1;
    if (may_tie == ties.leaves_all(static_cast<unsigned>(tile), static_cast<unsigned>(last))) {
      may_tie = !may_tie;
      range.set_bound(range_of(may_tie));
    }
    unsigned keeps = Form::kAll;
    if constexpr (!Form::kFails) {
      keeps = look_first();
      if (!__any_sync(kAllLanes, keeps != 0)) return;
    }
    keeps &= machine.memory().present(all, place);
    machine.run_rest(all, tile);
    const Numbers<Form>& score = machine.number();
    if (filters) {
      const Truths& truth = machine.truth();
      if constexpr (Form::kFails) {
        if ((truth.failed & keeps) != 0) *failed = 1;
      }
      keeps &= Form::kNulls ? truth.bits & truth.valid : truth.bits;
    }
    if constexpr (Form::kFails) {
      if ((score.failed & keeps) != 0) *failed = 1;
      std::uint64_t scores[kRows];
      scores_of(scores);
      keeps &= range.bits_within(scores);
    }
    // Mostly one row of a warp is left.
    while (__any_sync(kAllLanes, keeps != 0)) {
      const unsigned mine = keeps != 0 ? static_cast<unsigned>(__ffs(static_cast<int>(keeps)) - 1) : 0;
      std::uint64_t bits = 0;
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) bits = i == mine ? score.bits(i) : bits;
      const bool valid = !Form::kNulls || (score.valid >> mine & 1) != 0;
      const Element element =
          rows.kind.of(rows.score_kind.key(bits, valid), MachineMemory<Form>::place_of(place, mine));
      const Threshold wanted{target.guess->threshold};  // read again, as there are too few registers to keep it
      found.template add<1>(keeps != 0 && wanted.holds(element) ? 1 : 0, [&](unsigned) { return element; });
      keeps &= keeps - 1;
    }
  });
  found.flush();
}

/// Returns the bytes of a row that are always read.
std::size_t bytes_of_row(const StepProgram& program) {
  std::size_t bytes = 0;
  for (int c = 0; c < program.first_columns; ++c) bytes += bytes_of(program.columns[c].stored);
  return bytes;
}

template <class Form>
std::optional<TopKSolution> select_with(const ScanProblem& problem, const ThresholdPlan& plan, StepProgram program,
                                        const ComputedRows& rows, unsigned* failed, const Context& context,
                                        DeviceContext& device) {
  const MachineLayout layout = lay_out<Form>(program);
  const std::size_t shared_bytes = layout.bytes;
  const std::size_t resident = resident_blocks(keep_computed<Form>, kMachineThreads, shared_bytes) *
                               static_cast<std::size_t>(device.properties().multiprocessors);
  const std::size_t tiles = blocks_for(problem.n, Form::kTile);
  const Grid grid{.blocks = std::min(tiles, resident), .threads = kMachineThreads, .shared_bytes = shared_bytes};
  const std::size_t sampled = plan.sample();
  const auto sample = device.allocate<ComputedRows::Element>(sampled);
  return select_from_scan<SampledScores>(problem, plan, bytes_of_row(program), context, device, [&](auto& selection) {
    launch("sample_scores", sample_scores,
           {.blocks = blocks_for(sampled, kSampleOfScoresThreads), .threads = kSampleOfScoresThreads}, device.stream(),
           rows, sample.data(), sampled);
    selection.start(SampledScores{sample.data()}, keep_computed<Form>, grid, program, layout,
                    static_cast<unsigned>(tiles), rows, failed);
  });
}

}  // namespace

std::optional<TopKSolution> best_of_computed(const ScanProblem& problem, const ThresholdPlan& plan,
                                             const Context& context) {
  const ComputedScan& scan = *problem.computed;
  auto program = scan.program.steps;
  if (!program) return std::nullopt;
  DeviceContext& device = device_of(context);
  const Lease lease(device);
  const LoadedExpression loaded(scan.program, device);
  program->source = loaded.expression();
  const bool is_float = scan.program.result == Stored::float64;
  const ComputedRows rows{.condition = loaded.part(scan.of_score, scan.program.instructions.size()),
                          .score = loaded.part(0, scan.of_score),
                          .score_kind = {is_float, scan.program.result == Stored::int64, scan.high},
                          .n = problem.n,
                          .kind = ScanSelection<ComputedRows>::kind_of(problem.ties)};
  auto solution = with_form(*program, [&]<class Form>(Form) {
    return select_with<Form>(problem, plan, *program, rows, loaded.failed(), context, device);
  });
  if (solution && loaded.any_failed()) return std::nullopt;
  return solution;
}

}  // namespace skyrank::kernels::cuda::topk
