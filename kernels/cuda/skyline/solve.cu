#include "kernels/cuda/skyline/solve.cuh"

#include <bit>
#include <optional>
#include <utility>

#include "kernels/common/noted_work.hpp"
#include "kernels/cuda/device/calls.hpp"
#include "kernels/cuda/device/columns.hpp"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/device/select.cuh"

namespace skyrank::kernels::cuda::skyline {
namespace {

constexpr std::size_t kWordRows = 32;

template <class Key>
KeyTable<Key> table_of(const std::vector<KeyColumn>& columns, std::size_t n) {
  KeyTable<Key> table{};
  for (std::size_t c = 0; c < columns.size(); ++c) table.columns[c] = columns[c].as<Key>();
  table.n = static_cast<std::uint32_t>(n);
  table.d = static_cast<int>(columns.size());
  return table;
}

Vector<RowId> rows_of(const std::vector<std::uint32_t>& members) {
  std::size_t count = 0;
  for (const std::uint32_t word : members) count += static_cast<std::size_t>(std::popcount(word));
  Vector<RowId> rows;
  rows.reserve(count);
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::uint32_t word = members[i]; word != 0; word &= word - 1) {
      rows.push_back(static_cast<RowId>(i * kWordRows + static_cast<std::size_t>(std::countr_zero(word))));
    }
  }
  return rows;
}

}  // namespace

SkylineRun::SkylineRun(const DeviceRun& run, std::vector<StageWork>& stages) : DeviceRun(run), stages_(stages) {
  if (!counts()) return;
  counters_ = allocate<TestCounters>(1);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(counters_.data(), 0, counters_.bytes(), stream()));
  stage_ends_[0].record(stream());
}

TestCounters SkylineRun::read_counters() const { return value_at(counters_.data(), device); }

void SkylineRun::end_stage(std::string name, const std::uint32_t* rows) {
  if (!counts()) return;
  stage_ends_[1].record(stream());
  std::uint32_t left = 0;
  if (rows != nullptr) {
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(&left, rows, sizeof(left), cudaMemcpyDefault, stream()));
  }
  const TestCounters now = read_counters();
  stages_.push_back({.name = std::move(name),
                     .ms = stage_ends_[1].ms_since(stage_ends_[0]),
                     .rows = left,
                     .dominance_tests = now.dominance_tests - told_.dominance_tests,
                     .mask_tests = now.mask_tests - told_.mask_tests});
  told_ = now;
  stage_ends_[0].record(stream());
}

void SkylineRun::pace() {
  launched_[launches_ % 2].record(stream());
  if (launches_ > 0) launched_[(launches_ + 1) % 2].synchronize();
  ++launches_;
  context.check();
}

void SkylineRun::collect() {
  if (!counts()) return;
  const TestCounters now = read_counters();
  if (now.dominance_tests != told_.dominance_tests || now.mask_tests != told_.mask_tests) end_stage("rest");
  work.dominance_tests += now.dominance_tests;
  work.mask_tests += now.mask_tests;
  noted_cell_tests() += now.cell_tests;
}

namespace {

/// The state of a run on the device.
struct Solving {
  const SkylineProblem& problem;
  FindSkyline<std::uint32_t> find32;
  FindSkyline<std::uint64_t> find64;

  /// A bit for each row, in the order of the stream: those of the skyline's are set.
  Buffer<std::uint32_t> members(SkylineRun& run, const ResidentColumns& resident) const {
    auto bits = run.allocate<std::uint32_t>((problem.n + kWordRows - 1) / kWordRows);
    SKYRANK_CUDA_CALL(cudaMemsetAsync(bits.data(), 0, bits.bytes(), run.stream()));
    if (problem.keys.front().width == KeyWidth::bytes8)
      find64(run, table_of<std::uint64_t>(resident.columns, problem.n), bits.data());
    else
      find32(run, table_of<std::uint32_t>(resident.columns, problem.n), bits.data());
    return bits;
  }
};

}  // namespace

SkylineSolution solve_skyline(const SkylineProblem& problem, const ParameterValues& parameters, const Context& context,
                              FindSkyline<std::uint32_t> find32, FindSkyline<std::uint64_t> find64) {
  context.check();
  SkylineSolution solution;
  if (problem.n == 0) return solution;
  const Range range("skyline");
  DeviceContext& device = device_of(context);
  const Lease lease(device);

  Stages stages(device);
  const ResidentColumns resident = load_columns(problem.keys, problem.n, problem.memory, device);
  stages.loaded();
  SkylineRun run({device, parameters, context, solution.work}, solution.stages);
  const auto members = Solving{problem, find32, find64}.members(run, resident);
  stages.solved();
  run.collect();
  std::vector<std::uint32_t> answer(members.size());
  device.transfer().download(answer.data(), members.data(), members.bytes());
  solution.times = stages.finished();
  solution.rows = rows_of(answer);
  return solution;
}

SkylineRows find_skyline(const SkylineProblem& problem, const ParameterValues& parameters, const Context& context,
                         bool with_others, FindSkyline<std::uint32_t> find32, FindSkyline<std::uint64_t> find64) {
  context.check();
  SkylineRows found;
  if (problem.n == 0) return found;
  const Range range("skyline");
  DeviceContext& device = DeviceContext::of_process();
  Buffer<std::uint32_t> members;
  std::optional<Selection<BitIs>> selected;
  {
    const Lease lease(device);
    Stages stages(device);
    const ResidentColumns resident = load_columns(problem.keys, problem.n, problem.memory, device);
    stages.loaded();
    std::vector<StageWork> stage_work;
    SkylineRun run({device, parameters, context, found.work}, stage_work);
    members = Solving{problem, find32, find64}.members(run, resident);
    stages.solved();
    run.collect();
    selected.emplace(BitIs{members.data()}, problem.n, device);
    found.count = selected->count();
    found.times = stages.finished();
  }
  found.rows = DeviceArray(found.count * sizeof(RowId));
  if (with_others) found.others = DeviceArray((problem.n - found.count) * sizeof(RowId));
  const Lease lease(device);
  if (found.rows.bytes() > 0) selected->list(IdAt{}, static_cast<RowId*>(found.rows.data()));
  if (found.others.bytes() > 0)
    Selection(BitIs{members.data(), 0}, problem.n, device).list(IdAt{}, static_cast<RowId*>(found.others.data()));
  return found;
}

Support supports_flat_pareto(const SkylineShape& shape) {
  if (shape.general_order) return Support::no("compares by one flat Pareto order only");
  if (shape.n >> 31 != 0) return Support::no("takes fewer than 2^31 rows");
  return Support::yes();
}

}  // namespace skyrank::kernels::cuda::skyline
