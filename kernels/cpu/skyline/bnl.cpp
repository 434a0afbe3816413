#include <algorithm>
#include <numeric>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/common/order.hpp"
#include "kernels/common/rows.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/parallel_sort.hpp"

// Block-nested-loops: every row is compared with a window of rows that nothing has dominated so far. It needs nothing
// but a comparison of two rows, and so serves every order. Threads keep windows of their own over parts of the input;
// a row stays if no row of another window dominates it.
//
// Rows that all stay meet each other, which is quadratic, and so are rows that stay until a late one dominates them. A
// guard ends the run after so many comparisons; left are the windows and the rows that none has met.
namespace skyrank::kernels::skyline {
namespace {

constexpr std::size_t kRowsPerThread = 2048;  ///< with fewer, another thread costs more than it saves
constexpr std::size_t kMergeGrain = 64;
constexpr RowId kRowsOfBlock = 16;  ///< rows between two looks at the guard

using Window = Vector<RowId>;

/// Returns the number of comparisons.
template <class Compare>
std::uint64_t insert(RowId row, Window& window, const Compare& compare) {
  const std::size_t before = window.size();
  std::size_t i = 0;  // rows that stay and were compared; the others that were compared have left the window
  while (i < window.size()) {
    switch (compare(window[i], row)) {
      case Outcome::better:
        // A row that dominated one is likely to dominate more: it moves to the front.
        std::swap(window[i], window.front());
        return before - window.size() + i + 1;
      case Outcome::equal:
        // No row of the window dominates its own, so none dominates an equal row, nor is dominated by one.
        window.push_back(row);
        std::swap(window[i], window.front());
        return before + 1 - window.size() + i + 1;
      case Outcome::worse:
        window[i] = window.back();
        window.pop_back();
        break;
      case Outcome::incomparable: ++i; break;
    }
  }
  const std::size_t tests = before - window.size() + i;
  window.push_back(row);
  return tests;
}

/// A part of the input, its window, and what that took.
struct Part {
  RowId next = 0;  ///< first row that has not been compared
  RowId end = 0;
  Window window = {};
  std::uint64_t tests = 0;
};

/// Compares the rows of a part, until they are at an end or have taken more than `most_tests`.
template <class Compare, class Counters>
void reduce(Part& part, std::uint64_t most_tests, const Compare& compare, Counters& counters, const Context& context) {
  Window window;  // not the part's, so that what a row takes stays in registers
  std::uint64_t tests = 0;
  RowId row = part.next;
  while (row < part.end && tests <= most_tests) {
    context.check();
    const RowId last = std::min(part.end, row + kRowsOfBlock);
    for (; row < last; ++row) tests += insert(row, window, compare);
  }
  part.next = row;
  part.tests = tests;
  counters.dominance_tests(tests);
  counters.candidates(window.size());
  part.window = std::move(window);
}

/// The rows of all windows, and those that none of them has met.
Window rows_left(const Vector<Part>& parts) {
  Window rows;
  for (const Part& part : parts) {
    rows.insert(rows.end(), part.window.begin(), part.window.end());
    for (RowId row = part.next; row < part.end; ++row) rows.push_back(row);
  }
  return rows;
}

/// Books the comparisons of all parts, and those that a merge may take. Returns true if the guard strikes.
bool strikes(Guard& guard, const Vector<Part>& parts) {
  std::uint64_t rows = 0;
  bool finished = true;
  for (const Part& part : parts) {
    guard.spend(part.tests);
    rows += part.window.size();
    finished = finished && part.next == part.end;
  }
  if (!finished) return true;
  if (parts.size() > 1 && rows * rows > guard.left()) return true;
  if (parts.size() > 1) guard.spend(rows * rows);
  return false;
}

/// The rows of all windows that no row of another window dominates.
template <class Compare, class Counters>
Window merge(const Vector<Part>& parts, const Compare& compare, Counters& total, const Context& context) {
  Window rows;
  Vector<std::size_t> home;
  for (std::size_t w = 0; w < parts.size(); ++w) {
    rows.insert(rows.end(), parts[w].window.begin(), parts[w].window.end());
    home.resize(rows.size(), w);
  }
  Vector<std::uint8_t> stays(rows.size(), 0);
  parallel_for(rows.size(), kMergeGrain, total, [&](std::size_t begin, std::size_t end, Counters& counters) {
    const auto dominated_in = [&](const Window& window, RowId row) {
      for (const RowId other : window) {
        counters.dominance_tests(1);
        const Outcome outcome = compare(other, row);
        if (outcome == Outcome::better) return true;
        if (outcome == Outcome::equal) return false;  // as when inserting
      }
      return false;
    };
    for (std::size_t i = begin; i < end; ++i) {
      context.check();
      bool dominated = false;
      for (std::size_t w = 0; w < parts.size() && !dominated; ++w) {
        dominated = w != home[i] && dominated_in(parts[w].window, rows[i]);
      }
      stays[i] = !dominated;
    }
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (stays[i]) rows[kept++] = rows[i];
  }
  rows.resize(kept);
  return rows;
}

template <class Compare, class Counters>
SkylineSolution solve(const SkylineProblem& problem, const Compare& compare, Counters counters,
                      const Context& context) {
  const std::size_t n = problem.n;
  Vector<Part> parts(std::clamp<std::size_t>(n / kRowsPerThread, 1, concurrency()));
  const std::uint64_t most_tests = problem.guard != nullptr ? problem.guard->left() / parts.size() : ~std::uint64_t{0};
  parallel_for(parts.size(), 1, counters, [&](std::size_t begin, std::size_t end, Counters& own) {
    for (std::size_t part = begin; part < end; ++part) {
      parts[part].next = static_cast<RowId>(n * part / parts.size());
      parts[part].end = static_cast<RowId>(n * (part + 1) / parts.size());
      reduce(parts[part], most_tests, compare, own, context);
    }
  });
  SkylineSolution solution;
  solution.complete = problem.guard == nullptr || !strikes(*problem.guard, parts);
  if (!solution.complete) {
    solution.rows = rows_left(parts);
  } else {
    solution.rows = parts.size() == 1 ? std::move(parts.front().window) : merge(parts, compare, counters, context);
  }
  parallel_sort(solution.rows.begin(), solution.rows.end(), std::less<>{}, context);
  solution.work = counters.total();
  return solution;
}

template <class Key>
SkylineSolution run_width(const SkylineProblem& problem, const Context& context) {
  const std::size_t d = problem.keys.size();
  Rows<Key> rows(problem.n, problem.keys);
  parallel_for(problem.n, 1 << 14, [&](std::size_t begin, std::size_t end) {
    context.check();
    rows.fill(begin, end);
  });
  return with_counters(context, [&](auto counters) {
    counters.bytes_read(problem.n * d * sizeof(Key));
    counters.bytes_written(problem.n * d * sizeof(Key));
    if (problem.order.empty()) {
      const auto pareto = [&](RowId a, RowId b) { return compare_pareto(rows[a], rows[b], d); };
      return solve(problem, pareto, counters, context);
    }
    const Order order(problem.order, d);
    const auto general = [&](RowId a, RowId b) { return order.compare(rows[a], rows[b]); };
    return solve(problem, general, counters, context);
  });
}

Support supports(const SkylineShape&) { return Support::yes(); }

SkylineSolution run(const SkylineProblem& problem, const ParameterValues&, const Context& context) {
  if (problem.n == 0) return {};
  return problem.keys.front().width == KeyWidth::bytes8 ? run_width<std::uint64_t>(problem, context)
                                                        : run_width<std::uint32_t>(problem, context);
}

}  // namespace

extern const SkylineAlgorithm bnl{
    .name = "bnl",
    .summary = "block-nested-loops: compares every row with a window of undominated rows; any order",
    .source = "Börzsönyi, Kossmann, Stocker: The Skyline Operator, ICDE 2001, section 3.2",
    .device = Device::cpu,
    .parameters = {},
    .supports = supports,
    .run = run,
};

}  // namespace skyrank::kernels::skyline
