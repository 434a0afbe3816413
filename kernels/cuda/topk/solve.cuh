#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cuda/device/columns.hpp"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/run.hpp"
#include "kernels/cuda/topk/element.cuh"
#include "kernels/cuda/topk/finish.hpp"
#include "kernels/cuda/topk/keys.hpp"
#include "kernels/cuda/topk/wide.cuh"

// What every top-k algorithm on a GPU shares: keys to the device, the algorithm, the answer back.
namespace skyrank::kernels::cuda {

/// What a top-k algorithm has besides its problem.
struct Run : DeviceRun {
  Buffer<std::byte> guess = {};

  /// For algorithms that guess: their state in device memory, all zeros, which begins with a word `failed` that the
  /// kernel that finds the guess wrong sets to 1.
  template <class State>
  State* guess_with() {
    static_assert(offsetof(State, failed) == 0 && sizeof(State::failed) == sizeof(unsigned));
    guess = allocate<std::byte>(sizeof(State));
    SKYRANK_CUDA_CALL(cudaMemsetAsync(guess.data(), 0, guess.bytes(), stream()));
    return reinterpret_cast<State*>(guess.data());
  }

  /// Whether it was set. Waits for the device if it may have been.
  bool failed() const {
    if (guess.size() == 0) return false;
    unsigned flag = 0;
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(&flag, guess.data(), sizeof(flag), cudaMemcpyDeviceToHost, stream()));
    device.synchronize();
    return flag != 0;
  }
};

/// An algorithm is a type with
///   template <class E>
///   static bool select(Run&, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen);
/// which puts the k least of n elements into `chosen`, in any order, for 0 < k < n, in the order of the device's
/// stream, and returns whether it wrote them in ascending order.
template <class Algorithm, class E>
Buffer<RowId> solve_resident(Run& run, const TopKProblem& problem, E elements) {
  using Element = typename E::Element;
  elements.complement = problem.ties == TieRule::last ? E::kRowMask : Element{0};
  auto chosen = run.allocate<Element>(problem.k);
  bool sorted = Algorithm::select(run, elements, problem.n, problem.k, chosen.data());
  if constexpr (requires { typename Algorithm::Fallback; }) {
    if (run.failed()) sorted = Algorithm::Fallback::select(run, elements, problem.n, problem.k, chosen.data());
  }
  if (problem.ties == TieRule::all) {
    return rows_with_ties(elements, problem.n, chosen.data(), problem.k, run.device);
  }
  return rows_of(elements, chosen.data(), problem.k, sorted, run.device);
}

/// All rows, where k asks for no fewer.
struct TakeAll {
  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t /*k*/, typename E::Element* chosen) {
    take_all(elements, n, chosen, run.device);
    if (run.context.count_work) {
      run.count(n * sizeof(typename E::Key), n * sizeof(typename E::Element), n);
    }
    return false;
  }
};

template <class Algorithm>
Buffer<RowId> solve_keys(Run& run, const TopKProblem& problem, const ResidentKeys& keys) {
  if (keys.width == KeyWidth::bytes8) {
    return solve_resident<Algorithm>(run, problem, LongElements{static_cast<const std::uint64_t*>(keys.data)});
  }
  const auto* const data = static_cast<const std::uint32_t*>(keys.data);
  if (problem.n > std::numeric_limits<std::uint32_t>::max()) {
    return solve_resident<Algorithm>(run, problem, ManyElements{data});
  }
  return solve_resident<Algorithm>(run, problem, ShortElements{data});
}

/// The rows of an answer, by keys or, where these are all wanted, without a selection.
template <class Algorithm>
Buffer<RowId> solve_columns(Run& run, const TopKProblem& problem, std::span<const KeyColumn> columns) {
  const auto select = [&run](const TopKProblem& level, const ResidentKeys& keys) {
    return level.k == level.n ? solve_keys<TakeAll>(run, level, keys) : solve_keys<Algorithm>(run, level, keys);
  };
  if (total_bits(columns) > 64) return solve_wide(problem, columns, run.device, select);
  return select(problem, pack(columns, problem.n, run.device));
}

/// `run` of a registry entry.
template <class Algorithm>
TopKSolution solve(const TopKProblem& problem, const ParameterValues& parameters, const Context& context) {
  context.check();
  TopKSolution solution;
  if (problem.n == 0 || problem.k == 0) return solution;
  const Range range("top-k");
  DeviceContext& device = device_of(context);
  const Lease lease(device);
  Run run{{device, parameters, context, solution.work}};
  TopKProblem bounded = problem;
  bounded.k = std::min(problem.k, problem.n);

  Stages stages(device);
  const ResidentColumns columns = bring(problem.keys, problem.n, problem.memory, device);
  stages.brought();
  const Buffer<RowId> rows = solve_columns<Algorithm>(run, bounded, columns.columns);
  stages.solved();
  solution.rows.resize(rows.size());
  device.transfer().download(solution.rows.data(), rows.data(), rows.bytes());
  solution.times = stages.finished();
  return solution;
}

}  // namespace skyrank::kernels::cuda
