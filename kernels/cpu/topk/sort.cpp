#include <memory>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/cpu/topk/answer.hpp"
#include "kernels/cpu/topk/sort_ranks.hpp"

// Sorts all rows and takes the first k.
namespace skyrank::kernels::topk {
namespace {

template <class Ranks, class Counters>
TopKSolution solve(const TopKProblem& problem, const Ranks& ranks, Counters counters, const Context& context) {
  using Rank = typename Ranks::Rank;
  const std::size_t n = problem.n;
  Array<Rank> sorted(n);
  parallel_for(n, kCheckRows, [&](std::size_t begin, std::size_t end) {
    context.check();
    ranks.fill(begin, end, sorted.get() + begin);
  });
  sort_ranks(ranks, std::span<Rank>(sorted.get(), n), context);

  std::size_t k = std::min(problem.k, n);
  if (problem.ties == TieRule::all) {
    while (k < n && ranks.same_key(sorted[k], sorted[k - 1])) ++k;
  }
  counters.bytes_read(n * key_bytes(problem));
  counters.bytes_written(n * sizeof(Rank));
  counters.candidates(n);
  return {rows_in_order(ranks, std::span<const Rank>(sorted.get(), k), problem.ties), counters.total()};
}

TopKSolution run(const TopKProblem& problem, const ParameterValues&, const Context& context) {
  if (problem.n == 0 || problem.k == 0) return {};
  return with_ranks(problem, [&](const auto& ranks) {
    return with_counters(context, [&](auto counters) { return solve(problem, ranks, counters, context); });
  });
}

}  // namespace

extern const TopKAlgorithm sort{
    .name = "sort",
    .summary = "sorts all rows in parallel and takes the first k",
    .source =
        "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018, section "
        "2.2",
    .device = Device::cpu,
    .parameters = {},
    .supports = needs_key_columns,
    .run = run,
};

}  // namespace skyrank::kernels::topk
