#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/device/run.hpp"
#include "kernels/cuda/skyline/resident.hpp"

// Runs a skyline algorithm on a GPU: keys to the device, the algorithm, the answer back.
namespace skyrank::kernels::cuda::skyline {

/// The keys of n rows in d columns of device memory. Passed to kernels by value.
template <class Key>
struct KeyTable {
  const Key* columns[kMaxDims];
  std::uint32_t n;
  int d;
};

/// Tests that kernels count, in device memory.
struct TestCounters {
  unsigned long long dominance_tests;
  unsigned long long mask_tests;
  unsigned long long cell_tests;
};

/// The environment of a skyline algorithm, besides its problem.
class SkylineRun : public DeviceRun {
 public:
  /// Appends the work of each stage to `stages`.
  SkylineRun(const DeviceRun& run, std::vector<StageWork>& stages);

  /// Zeros before the algorithm; null unless `context.count_work`.
  TestCounters* counters() const { return counters_.data(); }
  bool counts() const { return context.count_work; }

  /// When counting, waits for the device, and notes what it did since the last call as a stage of this name. `rows`, if
  /// not null, points to the number of rows that are left undecided, in any memory.
  void end_stage(std::string name, const std::uint32_t* rows = nullptr);

  /// Call after each launch that may take long: lets the host be one such launch ahead of the device, no more, so that
  /// it hears of a request to stop. Throws Cancelled.
  void pace();

  /// Adds what the kernels counted to the work; tests of no stage become one. Waits for the device.
  void collect();

 private:
  TestCounters read_counters() const;

  Buffer<TestCounters> counters_;
  TestCounters told_ = {};  ///< counts of the stages that were noted
  std::vector<StageWork>& stages_;
  std::array<Event, 2> stage_ends_;
  std::array<Event, 2> launched_;
  std::size_t launches_ = 0;
};

/// Sets the bits of the skyline's rows in `members`: bit row % 32 of word row / 32, zeroed before. Its work is in the
/// order of the device's stream.
template <class Key>
using FindSkyline = void (*)(SkylineRun& run, const KeyTable<Key>& table, std::uint32_t* members);

SkylineSolution solve_skyline(const SkylineProblem& problem, const ParameterValues& parameters, const Context& context,
                              FindSkyline<std::uint32_t> find32, FindSkyline<std::uint64_t> find64);

/// Runs an algorithm: the function `run` of its registry entry. The algorithm is a type with
///   template <class Key>
///   static void find(SkylineRun& run, const KeyTable<Key>& table, std::uint32_t* members);
/// as FindSkyline says, for keys of 32 and 64 bits.
template <class Algorithm>
SkylineSolution solve_skyline(const SkylineProblem& problem, const ParameterValues& parameters,
                              const Context& context) {
  return solve_skyline(problem, parameters, context, Algorithm::template find<std::uint32_t>,
                       Algorithm::template find<std::uint64_t>);
}

SkylineRows find_skyline(const SkylineProblem& problem, const ParameterValues& parameters, const Context& context,
                         bool with_others, FindSkyline<std::uint32_t> find32, FindSkyline<std::uint64_t> find64);

/// Does what solve_skyline does, and leaves the rows on the device.
template <class Algorithm>
SkylineRows find_skyline(const SkylineProblem& problem, const ParameterValues& parameters, const Context& context,
                         bool with_others) {
  return find_skyline(problem, parameters, context, with_others, Algorithm::template find<std::uint32_t>,
                      Algorithm::template find<std::uint64_t>);
}

/// For algorithms that go through `solve_skyline`.
Support supports_flat_pareto(const SkylineShape& shape);

}  // namespace skyrank::kernels::cuda::skyline
