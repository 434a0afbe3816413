#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/registry.hpp"
#include "tools/bench/data/data.hpp"
#include "tools/bench/data/grid.hpp"
#include "tools/bench/judge.hpp"
#include "tools/bench/residence/residence.hpp"

// Times algorithms in turns, each round all of them, so that a busy machine slows them alike.
namespace skyrank::bench {

/// Milliseconds of the timed runs.
struct Times {
  double median_ms = 0;
  double min_ms = 0;
  double max_ms = 0;
};

/// Returns the median, the minimum and the maximum of at least one sample.
Times times_of(std::vector<double> samples);

/// One algorithm in one cell.
struct Measurement {
  std::string algorithm;
  kernels::Device device = kernels::Device::cpu;
  Times times;                                ///< on a GPU by its clock, the keys being there
  std::optional<Times> floor = std::nullopt;  ///< one read of the keys: by the GPU or, for top-k, by all threads
  double h2d_ms = 0;                          ///< transfer of the keys to a GPU, once
  double d2h_ms = 0;                          ///< transfer of the answer back
  std::optional<double> predicted_ms = std::nullopt;  ///< by the planner's model of it
  int runs = 0;                                       ///< timed
  kernels::Work work;                                 ///< work of one more run, with counters
  std::uint64_t cell_tests = 0;                       ///< counted in that run of a skyline
  std::vector<kernels::StageWork> stages;             ///< stages of that run; of algorithms on a GPU that tell them
  /// The peak of that run in bytes, beyond the keys; its answer included. On a GPU, of the memory there.
  std::optional<std::uint64_t> extra_memory;
  std::size_t result_size = 0;
  std::string fault;  ///< fault of an answer that it gave; empty: all were right
};

/// An algorithm that was left out of a cell.
struct Skipped {
  std::string algorithm;
  std::string reason;
};

struct CellResult {
  Cell cell;  ///< with its number of threads, 0 no more
  std::uint64_t key_bytes = 0;
  std::vector<Measurement> measured;
  std::vector<Skipped> skipped;
};

struct MeasureOptions {
  std::optional<kernels::Device> device;  ///< only algorithms of this device
  std::stop_token stop;
  /// Reads columns of a file, for cells with files; null where the program cannot.
  ReadColumns read_columns = {};
  /// Called with what is going on: before each round, and in the first before each run.
  std::function<void(const std::string&)> status = [](const std::string&) {};
};

/// Kept between the cells of the same data.
struct KeptData {
  std::unique_ptr<Residence> gpu;  ///< the keys on a GPU; null: no algorithm there was measured
  std::optional<double> h2d_ms;    ///< transfer of the keys to the GPU
  KeptReference reference;
};

/// Measures algorithms on the problem of `result.cell` and adds what came of it to `result`. In each round every
/// algorithm runs once, one after the other, and for top-k the floor before them. All answers are judged, outside the
/// timing. `kept` is that of cells of the same data. Returns the algorithms that went over the budget. Throws
/// kernels::Cancelled after a stop request.
std::vector<std::string> measure(const kernels::SkylineProblem& problem,
                                 std::span<const kernels::SkylineAlgorithm* const> algorithms,
                                 const MeasureOptions& options, CellResult& result, KeptData& kept);
std::vector<std::string> measure(const kernels::TopKProblem& problem,
                                 std::span<const kernels::TopKAlgorithm* const> algorithms,
                                 const MeasureOptions& options, CellResult& result, KeptData& kept);

}  // namespace skyrank::bench
