#include <vector>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/topk/answer.hpp"
#include "kernels/cpu/topk/selection.hpp"

// std::nth_element over as many ranks at a time as fit in a buffer, of which the k best stay: linear in the number of
// rows, and no more than a buffer of memory a thread.
namespace skyrank::kernels::topk {
namespace {

constexpr std::size_t kRowsOfPart = 1 << 15;  ///< with fewer, another thread costs more than it saves

/// The k best ranks of rows [begin, end), in no order.
template <class Ranks>
Scratch<typename Ranks::Rank> best_of_part(const Ranks& ranks, std::size_t begin, std::size_t end, std::size_t k,
                                           const Context& context) {
  using Rank = typename Ranks::Rank;
  const std::size_t capacity = std::min(end - begin, k + std::max(k, kCheckRows));
  Scratch<Rank> best;
  best.reserve(capacity);
  while (begin < end) {
    context.check();
    const std::size_t kept = best.size();
    const std::size_t count = std::min(end - begin, capacity - kept);
    best.resize(kept + count);
    ranks.fill(begin, begin + count, best.data() + kept);
    begin += count;
    if (best.size() <= k) continue;
    std::nth_element(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(k), best.end(), ranks.order());
    best.resize(k);
  }
  return best;
}

template <class Ranks, class Counters>
TopKSolution solve(const TopKProblem& problem, const Ranks& ranks, Counters counters, const Context& context) {
  using Rank = typename Ranks::Rank;
  const std::size_t n = problem.n;
  const std::size_t k = std::min(problem.k, n);
  Vector<Scratch<Rank>> parts(std::clamp<std::size_t>(n / kRowsOfPart, 1, concurrency()));
  parallel_for(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      parts[part] = best_of_part(ranks, n * part / parts.size(), n * (part + 1) / parts.size(), k, context);
    }
  });
  Scratch<Rank> best = std::move(parts.front());
  for (std::size_t part = 1; part < parts.size(); ++part) {
    best.insert(best.end(), parts[part].begin(), parts[part].end());
  }
  counters.bytes_read(n * key_bytes(problem));
  counters.bytes_written(n * sizeof(Rank));
  counters.candidates(best.size());
  keep_best_in_order(ranks, best, k, false, context);
  return solution_of_best(problem, ranks, std::span<const Rank>(best), counters, context);
}

TopKSolution run(const TopKProblem& problem, const ParameterValues&, const Context& context) {
  if (problem.n == 0 || problem.k == 0) return {};
  return with_ranks(problem, [&](const auto& ranks) {
    return with_counters(context, [&](auto counters) { return solve(problem, ranks, counters, context); });
  });
}

}  // namespace

extern const TopKAlgorithm nth_element{
    .name = "nth-element",
    .summary = "std::nth_element over a buffer of ranks per thread, merged",
    .source = "Musser: Introspective Sorting and Selection Algorithms, Software: Practice and Experience 27(8), 1997",
    .device = Device::cpu,
    .parameters = {},
    .supports = needs_key_columns,
    .run = run,
};

}  // namespace skyrank::kernels::topk
