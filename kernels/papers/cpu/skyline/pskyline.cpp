#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/common/dominance.hpp"
#include "kernels/common/rows.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/parallel_sort.hpp"
#include "kernels/cpu/skyline/sample.hpp"

// PSkyline: the input is cut into parts of consecutive rows, one a thread. Each thread finds the skyline of its part
// (SSkyline), then the skylines are merged one after the other, and all threads share each merge (PMerge).
//
// SSkyline compares the row at `head` with all rows behind it, in place: a dominated row is overwritten by the last
// one, and a row that dominates the head becomes the head. PMerge compares each row of one skyline with all rows of the
// other. Equal rows are incomparable, so all of them stay.
namespace skyrank::kernels::skyline {
namespace {

constexpr std::size_t kCopyGrain = 1 << 13;
constexpr std::size_t kMergeGrain = 64;  ///< rows of a merge that one thread takes at a time, as in the authors' code

template <class Key, class Counters>
class PSkyline {
 public:
  using Part = std::span<std::uint32_t>;

  PSkyline(const Rows<Key>& keys, Counters& counters, const Context& context)
      : keys_(keys), counters_(counters), context_(context) {}

  /// The skyline of the problem's n rows, in no order.
  RowIndices operator()(std::size_t n, std::size_t parts) {
    RowIndices rows(n);
    std::iota(rows.begin(), rows.end(), std::uint32_t{0});
    Vector<Part> skylines(parts);
    parallel_for(parts, 1, counters_, [&](std::size_t begin, std::size_t end, Counters& own) {
      for (std::size_t part = begin; part < end; ++part) {
        const std::size_t first = n * part / parts;
        skylines[part] = skyline_of(Part(rows).subspan(first, n * (part + 1) / parts - first), own);
        own.candidates(skylines[part].size());
      }
    });
    Part merged = skylines.front();
    for (std::size_t part = 1; part < parts; ++part) merged = merge(rows, merged, skylines[part]);
    rows.resize(merged.size());
    return rows;
  }

 private:
  /// SSkyline. The skyline is at the begin of the part.
  Part skyline_of(Part part, Counters& counters) const {
    std::size_t size = part.size();
    for (std::size_t head = 0; head + 1 < size; ++head) {
      context_.check();
      for (std::size_t i = head + 1; i < size;) {
        switch (compare(part[head], part[i], counters)) {
          case Outcome::better: part[i] = part[--size]; break;
          case Outcome::worse:
            part[head] = part[i];
            part[i] = part[--size];
            i = head + 1;
            break;
          default: ++i;
        }
      }
    }
    return part.first(size);
  }

  /// PMerge. `left` is at the begin of the rows, as the result is, and `right` anywhere behind it.
  Part merge(RowIndices& rows, Part left, Part right) {
    std::copy(right.begin(), right.end(), rows.begin() + static_cast<std::ptrdiff_t>(left.size()));
    right = Part(rows).subspan(left.size(), right.size());
    Vector<std::atomic<bool>> dominated(left.size() + right.size());
    parallel_for(left.size(), kMergeGrain, counters_, [&](std::size_t begin, std::size_t end, Counters& own) {
      for (std::size_t i = begin; i < end; ++i) {
        context_.check();
        const bool found = dominated_or_mark(left[i], right, &dominated[left.size()], own);
        dominated[i].store(found, std::memory_order_relaxed);
      }
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < dominated.size(); ++i) {
      if (!dominated[i].load(std::memory_order_relaxed)) rows[kept++] = rows[i];
    }
    return Part(rows).first(kept);
  }

  /// Returns true if one of `others` dominates the row. Marks those that the row dominates; a marked one need not be
  /// looked at by any thread, since what dominates it dominates all that it does, and no two rows of a skyline.
  bool dominated_or_mark(std::uint32_t row, std::span<const std::uint32_t> others, std::atomic<bool>* marked,
                         Counters& counters) const {
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (marked[i].load(std::memory_order_relaxed)) continue;
      const Outcome outcome = compare(row, others[i], counters);
      if (outcome == Outcome::worse) return true;
      if (outcome == Outcome::better) marked[i].store(true, std::memory_order_relaxed);
    }
    return false;
  }

  Outcome compare(std::uint32_t a, std::uint32_t b, Counters& counters) const {
    counters.dominance_tests(1);
    return compare_pareto(keys_[a], keys_[b], keys_.dims());
  }

  const Rows<Key>& keys_;
  Counters& counters_;
  const Context& context_;
};

template <class Key, class Counters>
SkylineSolution solve(const SkylineProblem& problem, std::size_t parts, Counters counters, const Context& context) {
  Rows<Key> keys(problem.n, problem.keys);
  parallel_for(problem.n, kCopyGrain, [&](std::size_t begin, std::size_t end) {
    context.check();
    keys.fill(begin, end);
  });
  counters.bytes_read(problem.n * keys.dims() * sizeof(Key));
  counters.bytes_written(problem.n * keys.dims() * sizeof(Key));
  const RowIndices skyline = PSkyline<Key, Counters>(keys, counters, context)(problem.n, parts);
  SkylineSolution solution;
  solution.rows.assign(skyline.begin(), skyline.end());
  parallel_sort(solution.rows.begin(), solution.rows.end(), std::less<>{}, context);
  solution.work = counters.total();
  return solution;
}

constexpr Parameter kParameters[] = {
    {"parts", "parts of the input whose skylines are found at the same time; 0: one a thread", 0, 1024, 0},
};

SkylineSolution run(const SkylineProblem& problem, const ParameterValues& parameters, const Context& context) {
  if (problem.n == 0) return {};
  const auto wanted = static_cast<std::size_t>(parameters["parts"]);
  const std::size_t parts = std::min(problem.n, wanted == 0 ? concurrency() : wanted);
  return with_key_and_counters(problem, context, [&](auto key, auto counters) {
    return solve<decltype(key)>(problem, parts, counters, context);
  });
}

}  // namespace

extern const SkylineAlgorithm pskyline{
    .name = "pskyline",
    .summary = "skylines of parts, found at the same time, then merged one after the other by all threads",
    .source =
        "Im, Park, Park: Parallel Skyline Computation on Multicore Architectures, Information Systems 36(4), 2011 "
        "(PSkyline)",
    .device = Device::cpu,
    .parameters = kParameters,
    .supports = supports_flat_pareto,
    .run = run,
};

}  // namespace skyrank::kernels::skyline
