#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cuda/device/calls.hpp"
#include "kernels/cuda/device/columns.hpp"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/device/run.hpp"
#include "kernels/cuda/topk/block/element.cuh"
#include "kernels/cuda/topk/finish.hpp"
#include "kernels/cuda/topk/in_order/least_in_order.hpp"
#include "kernels/cuda/topk/keys.hpp"
#include "kernels/cuda/topk/wide.cuh"

// Runs a top-k algorithm on a GPU: keys to the device, the algorithm, the answer back.
namespace skyrank::kernels::cuda::topk {

/// The environment of a top-k algorithm, besides its problem.
struct Run : DeviceRun {
  Buffer<std::byte> guess = {};
  Stages* unordered = nullptr;  ///< the stages of a run without order, which end with its elements; null: with order
  bool returns_rows = true;     ///< false: a run without order has no answer

  /// For algorithms that guess: their state in device memory, for their first kernel to set. It begins with a word
  /// `failed`, 0 then, that the kernel that finds the guess wrong sets to 1.
  template <class State>
  State* guess_with() {
    static_assert(offsetof(State, failed) == 0 && sizeof(State::failed) == sizeof(unsigned));
    guess = allocate<std::byte>(sizeof(State));
    return reinterpret_cast<State*>(guess.data());
  }

  /// Returns the flag of failure, in device memory; null if nothing was guessed.
  const unsigned* failed_flag() const { return reinterpret_cast<const unsigned*>(guess.data()); }

  /// Returns true if the flag was set; asked for once, because the state is given up. Waits for the device if it may
  /// have been set.
  bool failed() {
    if (guess.size() == 0) return false;
    const bool is_set = value_at(failed_flag(), device) != 0;
    guess = {};
    return is_set;
  }
};

/// An algorithm is a type with
///   template <class E>
///   static bool select(Run&, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen);
/// which puts the k least of n elements into `chosen`, in any order, for 0 < k < n, in the order of the device's
/// stream, and returns whether it wrote them in ascending order. Or, if it guesses, with
///   static bool can_guess(std::size_t n, std::size_t k);
///   template <class E>
///   static void select_in_order(Run&, const E& elements, std::size_t n, const InOrder<typename E::Element>& answer);
/// which writes nothing outside the answer's k places when the guess was wrong, and `run.failed()` then tells so.
/// Whoever reads the answer asks for that first, so that nothing before has to wait for the device. SortAll answers
/// where an algorithm cannot guess or was wrong. One that guesses also takes keys of 1 and 2 bytes as they are.
template <class Algorithm>
concept Guesses = requires {
  Algorithm::can_guess(std::size_t{}, std::size_t{});
};

/// Parameters of algorithms of papers whose answers are unordered lists of keys and row ids. Such a run is for
/// measurements: its time ends with the elements, and its row ids are made of them afterwards.
inline constexpr Parameter kOrdered{
    "ordered", "0: rows are in no order unless all ties or the last are wanted, and the time ends with their elements",
    0, 1, 1};
inline constexpr Parameter kReturned{"returned", "0: no rows come back from a run without order, for its time alone", 0,
                                     1, 1};

/// An algorithm with these two parameters has a member `kMayBeUnordered`, and one that can select all of n rows has
/// `kSelectsAll`.
template <class Algorithm>
concept MayBeUnordered = requires {
  Algorithm::kMayBeUnordered;
};
template <class Algorithm>
concept SelectsAll = requires {
  Algorithm::kSelectsAll;
};

/// One that guesses may also have a way for a column of more rows than 32 bits count, in memory:
///   static constexpr std::size_t kMaxOfLongColumn;
///   static Buffer<RowId> select_from_long_column(Run&, const TopKProblem& problem, const KeyColumn& column);
/// It returns the k best in order, with ties to the first.
template <class Algorithm>
concept SelectsLongColumns = requires {
  Algorithm::kMaxOfLongColumn;
};

/// Sorts all rows, in room for three times their elements.
struct SortAll {
  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    const auto all = run.allocate<typename E::Element>(n);
    take_all(elements, n, all.data(), run.device);
    sort_elements(all.data(), n, run.device);
    const std::size_t bytes = k * sizeof(typename E::Element);
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(chosen, all.data(), bytes, cudaMemcpyDeviceToDevice, run.stream()));
    if (run.context.count_work) run.count(n * sizeof(typename E::Key), all.bytes(), n);
    return true;
  }
};

template <class Algorithm, class E>
Buffer<RowId> solve_resident(Run& run, const TopKProblem& problem, E elements) {
  using Element = typename E::Element;
  const std::size_t n = problem.n;
  const std::size_t k = problem.k;
  elements.complement = problem.ties == TieRule::last ? E::kRowMask : Element{0};
  bool sorted = true;
  Buffer<Element> chosen;
  if constexpr (Guesses<Algorithm>) {
    if (!Algorithm::can_guess(n, k)) return solve_resident<SortAll>(run, problem, elements);
    if (problem.ties == TieRule::first || problem.ties == TieRule::any) {
      auto rows = run.allocate<RowId>(k);
      Algorithm::select_in_order(run, elements, n, {.elements = nullptr, .rows = rows.data(), .k = k});
      return rows;
    }
    chosen = run.allocate<Element>(k);
    Algorithm::select_in_order(run, elements, n, {.elements = chosen.data(), .rows = nullptr, .k = k});
    if (problem.ties == TieRule::last) return rows_of(elements, chosen.data(), k, run.device, run.failed_flag());
    if (run.failed()) return solve_resident<SortAll>(run, problem, elements);
  } else {
    chosen = run.allocate<Element>(k);
    sorted = Algorithm::select(run, elements, n, k, chosen.data());
  }
  if (run.unordered != nullptr) {
    run.unordered->solved();
    if (!run.returns_rows) return {};
  } else if (!sorted) {
    sort_elements(chosen.data(), k, run.device);
  }
  return problem.ties == TieRule::all ? rows_with_ties(elements, n, chosen.data(), k, run.device)
                                      : rows_of(elements, chosen.data(), k, run.device);
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
  if constexpr (Guesses<Algorithm>) {
    if (keys.width == KeyWidth::bytes1)
      return solve_resident<Algorithm>(run, problem, ByteElements{static_cast<const std::uint8_t*>(keys.data)});
    if (keys.width == KeyWidth::bytes2)
      return solve_resident<Algorithm>(run, problem, HalfElements{static_cast<const std::uint16_t*>(keys.data)});
  }
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
    const bool takes_all = level.k == level.n && !(SelectsAll<Algorithm> && run.unordered != nullptr);
    return takes_all ? solve_keys<TakeAll>(run, level, keys) : solve_keys<Algorithm>(run, level, keys);
  };
  const bool short_rows = problem.n <= std::numeric_limits<std::uint32_t>::max();
  if (Guesses<Algorithm> && columns.size() == 1 && short_rows && problem.k < problem.n)
    return solve_keys<Algorithm>(run, problem,
                                 {.data = columns.front().data, .width = columns.front().width, .owned = {}});
  if constexpr (SelectsLongColumns<Algorithm>) {
    const bool first = problem.ties == TieRule::first || problem.ties == TieRule::any;
    if (columns.size() == 1 && !short_rows && first && problem.k <= Algorithm::kMaxOfLongColumn) {
      return Algorithm::select_from_long_column(run, problem, columns.front());
    }
  }
  if (total_bits(columns) <= 64) return select(problem, pack(columns, problem.n, run.device));
  if constexpr (Guesses<Algorithm>) {
    return solve_wide(problem, columns, run.device, [&](const TopKProblem& level, const ResidentKeys& keys) {
      Buffer<RowId> rows = select(level, keys);
      return run.failed() ? solve_keys<SortAll>(run, level, keys) : std::move(rows);
    });
  } else {
    return solve_wide(problem, columns, run.device, select);
  }
}

/// Runs an algorithm: the function `run` of its registry entry.
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
  const ResidentColumns columns = load_columns(problem.keys, problem.n, problem.memory, device);
  stages.loaded();
  if constexpr (MayBeUnordered<Algorithm>) {
    const bool needs_order = problem.ties == TieRule::all || problem.ties == TieRule::last;
    if (parameters[kOrdered.name] == 0 && !needs_order && total_bits(problem.keys) <= 64) {
      run.unordered = &stages;
      run.returns_rows = parameters[kReturned.name] != 0;
    }
  }
  const auto take = [&](const Buffer<RowId>& answer) {
    if (run.unordered == nullptr) {
      stages.solved();
    } else {
      device.synchronize();  // row ids were made after the end that the copy waits for
    }
    solution.rows.resize(answer.size());
    device.transfer().download(solution.rows.data(), answer.data(), answer.bytes());
  };
  take(solve_columns<Algorithm>(run, bounded, columns.columns));
  if constexpr (Guesses<Algorithm>) {
    if (run.failed()) take(solve_columns<SortAll>(run, bounded, columns.columns));
  }
  solution.times = stages.finished();
  return solution;
}

}  // namespace skyrank::kernels::cuda::topk
