#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/common/rows.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/parallel_sort.hpp"
#include "kernels/cpu/skyline/presorted.hpp"

// Sort-first skyline: in an order in which no row comes before one that dominates it, a row that survives the window of
// rows kept so far is in the skyline, and the window never loses a row.
//
// The order is by a score that a dominating row never exceeds, then lexicographic. The lexicographic part alone would
// do; it makes ties of the score exact, so that the score may be rounded: the sum of the keys, each mapped to one range
// for all columns by a monotone function. Equal rows end up side by side and only the first of them is compared. So all
// compared rows are distinct, and "at least as good in every key" is dominance.
//
// Rows of an order tree are in lexicographic order alone, by the leaves from left to right.
namespace skyrank::kernels::skyline {
namespace {

constexpr std::size_t kGrain = 1 << 13;  ///< rows that one thread copies or scores at a time

struct Scored {
  std::int64_t score;
  RowId row;
};

/// Maps keys of one column to [0, 2^50], never a greater key to a smaller number: each of the three roundings is
/// monotone. As integers the parts of a sum of up to 64 keys add up without another one.
struct KeyScale {
  std::uint64_t least = 0;
  double factor = 0;

  std::int64_t operator()(std::uint64_t key) const {
    return static_cast<std::int64_t>(static_cast<double>(key - least) * factor);
  }
};

template <class Key>
KeyScale scale_of(const Key* keys, std::size_t n) {
  Key least = keys[0];
  Key greatest = keys[0];
  for (std::size_t row = 1; row < n; ++row) {
    least = std::min(least, keys[row]);
    greatest = std::max(greatest, keys[row]);
  }
  return {least, least == greatest ? 0.0 : 0x1p50 / static_cast<double>(greatest - least)};
}

template <class Key>
Vector<KeyScale> scales_of(const SkylineProblem& problem, const Context& context) {
  Vector<KeyScale> scales(problem.keys.size());
  const std::size_t columns_a_thread = problem.n < kGrain ? scales.size() : 1;
  parallel_for(scales.size(), columns_a_thread, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      context.check();
      scales[c] = scale_of(problem.keys[c].as<Key>(), problem.n);
    }
  });
  return scales;
}

/// All rows in an order in which none is dominated by a later one, equal rows side by side.
template <class Key>
Array<Scored> presort(const SkylineProblem& problem, Rows<Key>& rows, const Context& context) {
  const std::size_t d = problem.keys.size();
  const Vector<KeyScale> scales = scales_of<Key>(problem, context);
  Array<Scored> order(problem.n);
  parallel_for(problem.n, kGrain, [&](std::size_t begin, std::size_t end) {
    context.check();
    rows.fill(begin, end);
    for (std::size_t row = begin; row < end; ++row) {
      std::int64_t score = 0;
      for (std::size_t c = 0; c < d; ++c) score += scales[c](rows[row][c]);
      order[row] = {score, static_cast<RowId>(row)};
    }
  });
  const auto before = [&](const Scored& a, const Scored& b) {
    if (a.score != b.score) return a.score < b.score;
    const Key* x = rows[a.row];
    const Key* y = rows[b.row];
    const auto [p, q] = std::mismatch(x, x + d, y);
    return p == x + d ? a.row < b.row : *p < *q;
  };
  parallel_sort(order.get(), order.get() + problem.n, before, context);
  return order;
}

/// All rows in an order in which an order tree prefers none to one before it, equal rows side by side.
template <class Key>
Array<Scored> presort_by_leaves(const SkylineProblem& problem, Rows<Key>& rows, const Context& context) {
  Array<Scored> order(problem.n);
  parallel_for(problem.n, kGrain, [&](std::size_t begin, std::size_t end) {
    context.check();
    rows.fill(begin, end);
    for (std::size_t row = begin; row < end; ++row) order[row] = {0, static_cast<RowId>(row)};
  });
  const std::vector<std::uint32_t> leaves = columns_from_left(problem.order);
  const auto before = [&](const Scored& a, const Scored& b) {
    const Key* const x = rows[a.row];
    const Key* const y = rows[b.row];
    const auto differs = [&](std::uint32_t column) { return x[column] != y[column]; };
    const auto leaf = std::ranges::find_if(leaves, differs);
    return leaf == leaves.end() ? a.row < b.row : x[*leaf] < y[*leaf];
  };
  parallel_sort(order.get(), order.get() + problem.n, before, context);
  return order;
}

/// The presorted rows for `filter_presorted`, which takes them all.
struct Sequence {
  const Scored* order;
  std::size_t n;

  std::size_t size() const { return n; }
  RowId row(std::size_t i) const { return order[i].row; }
  bool ties_with_previous(std::size_t i) const { return order[i].score == order[i - 1].score; }
  bool ends_at(std::size_t) const { return false; }
  void keep(std::size_t) {}
};

template <class Key, class Counters>
SkylineSolution solve(const SkylineProblem& problem, std::size_t block_rows, Counters counters,
                      const Context& context) {
  const std::size_t n = problem.n;
  const std::size_t d = problem.keys.size();
  Rows<Key> rows(n, problem.keys);
  const bool flat = !shape_of(problem).general_order;
  const auto order = flat ? presort(problem, rows, context) : presort_by_leaves(problem, rows, context);
  counters.bytes_read(2 * n * d * sizeof(Key));
  counters.bytes_written(n * (d * sizeof(Key) + sizeof(Scored)));
  SkylineSolution solution;
  const Sequence sequence{order.get(), n};
  if (flat) {
    solution.rows = filter_presorted(rows, sequence, block_rows, counters, context);
  } else {
    const Order tree(problem.order, d);
    solution.rows = filter_presorted(rows, OrderWindow<Key>(tree), sequence, block_rows, counters, context);
  }
  solution.work = counters.total();
  return solution;
}

constexpr Parameter kParameters[] = {
    {"block", "rows compared with the window at the same time, then with each other", 1, 1 << 20, 1024},
};

Support supports(const SkylineShape&) { return Support::yes(); }

SkylineSolution run(const SkylineProblem& problem, const ParameterValues& parameters, const Context& context) {
  if (problem.n == 0) return {};
  const auto block = static_cast<std::size_t>(parameters["block"]);
  return with_key_and_counters(problem, context, [&](auto key, auto counters) {
    return solve<decltype(key)>(problem, block, counters, context);
  });
}

}  // namespace

extern const SkylineAlgorithm sfs{
    .name = "sfs",
    .summary = "sort-first skyline: sorts rows by a monotone score, then compares each with the rows kept before it",
    .source = "Chomicki, Godfrey, Gryz, Liang: Skyline with Presorting, ICDE 2003",
    .device = Device::cpu,
    .parameters = kParameters,
    .supports = supports,
    .run = run,
};

}  // namespace skyrank::kernels::skyline
