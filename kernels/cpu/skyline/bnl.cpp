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
namespace skyrank::kernels::skyline {
namespace {

constexpr std::size_t kRowsPerThread = 2048;  ///< with fewer, another thread costs more than it saves
constexpr std::size_t kMergeGrain = 64;

using Window = Vector<RowId>;

template <class Compare, class Counters>
void insert(RowId row, Window& window, const Compare& compare, Counters& counters) {
  for (std::size_t i = 0; i < window.size();) {
    counters.dominance_tests(1);
    switch (compare(window[i], row)) {
      case Outcome::better:
        // What dominated one row is likely to dominate more: it moves to the front.
        std::swap(window[i], window.front());
        return;
      case Outcome::equal:
        // No row of the window dominates its own, so none dominates an equal row, nor is dominated by one.
        window.push_back(row);
        std::swap(window[i], window.front());
        return;
      case Outcome::worse:
        window[i] = window.back();
        window.pop_back();
        break;
      case Outcome::incomparable: ++i; break;
    }
  }
  window.push_back(row);
}

/// The rows of all windows that no row of another window dominates.
template <class Compare, class Counters>
Window merge(const Vector<Window>& windows, const Compare& compare, Counters& total, const Context& context) {
  Window rows;
  Vector<std::size_t> home;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    rows.insert(rows.end(), windows[w].begin(), windows[w].end());
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
      for (std::size_t w = 0; w < windows.size() && !dominated; ++w) {
        dominated = w != home[i] && dominated_in(windows[w], rows[i]);
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
SkylineSolution solve(std::size_t n, const Compare& compare, Counters counters, const Context& context) {
  const std::size_t parts = std::clamp<std::size_t>(n / kRowsPerThread, 1, concurrency());
  Vector<Window> windows(parts);
  parallel_for(parts, 1, counters, [&](std::size_t begin, std::size_t end, Counters& own) {
    for (std::size_t part = begin; part < end; ++part) {
      const auto last = static_cast<RowId>(n * (part + 1) / parts);
      Window window;
      for (auto row = static_cast<RowId>(n * part / parts); row < last; ++row) {
        context.check();
        insert(row, window, compare, own);
      }
      own.candidates(window.size());
      windows[part] = std::move(window);
    }
  });
  SkylineSolution solution;
  solution.rows = parts == 1 ? std::move(windows.front()) : merge(windows, compare, counters, context);
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
      return solve(problem.n, pareto, counters, context);
    }
    const Order order(problem.order, d);
    const auto general = [&](RowId a, RowId b) { return order.compare(rows[a], rows[b]); };
    return solve(problem.n, general, counters, context);
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
