#pragma once

#include "kernels/common/counters.hpp"
#include "kernels/cpu/topk/answer.hpp"
#include "kernels/cpu/topk/sort_ranks.hpp"

namespace skyrank::kernels::topk {

inline constexpr std::size_t kRowsPerHeap = 1 << 15;  ///< with fewer, another thread costs more than it saves

/// The k best ranks of rows [begin, end), in no order. A rank enters the heap only if it beats the worst one there.
template <template <class> class Heap, class Ranks, class Counters>
Vector<typename Ranks::Rank> best_of_part(const Ranks& ranks, std::size_t begin, std::size_t end, std::size_t k,
                                          Counters& counters, const Context& context) {
  using Rank = typename Ranks::Rank;
  const std::size_t filled = begin + std::min(k, end - begin);
  Vector<Rank> first(filled - begin);
  ranks.fill(begin, filled, first.data());
  Heap<Ranks> heap(ranks, std::move(first));
  counters.candidates(filled - begin);
  Rank bound = heap.worst();
  for (std::size_t block = filled; block < end; block += kCheckRows) {
    context.check();
    bound = ranks.take_below(block, std::min(end, block + kCheckRows), bound, [&](Rank rank) {
      counters.candidates(1);
      heap.replace_worst(rank);
      return heap.worst();
    });
  }
  return std::move(heap).ranks();
}

template <template <class> class Heap, class Ranks, class Counters>
TopKSolution solve(const TopKProblem& problem, const Ranks& ranks, Counters counters, const Context& context) {
  using Rank = typename Ranks::Rank;
  const std::size_t n = problem.n;
  const std::size_t k = std::min(problem.k, n);
  const std::size_t parts = std::clamp<std::size_t>(n / kRowsPerHeap, 1, concurrency());
  Vector<Vector<Rank>> found(parts);
  parallel_for(parts, 1, counters, [&](std::size_t begin, std::size_t end, Counters& own) {
    for (std::size_t part = begin; part < end; ++part) {
      found[part] = best_of_part<Heap>(ranks, n * part / parts, n * (part + 1) / parts, k, own, context);
    }
  });

  Vector<Rank> best = std::move(found.front());
  for (std::size_t part = 1; part < parts; ++part) best.insert(best.end(), found[part].begin(), found[part].end());
  counters.bytes_read(n * key_bytes(problem));
  counters.bytes_written(best.size() * sizeof(Rank));
  sort_ranks(ranks, std::span<Rank>(best), context);
  best.resize(k);
  return solution_of_best(problem, ranks, std::span<const Rank>(best), counters, context);
}

/// The k best rows by a heap per thread over parts of the input, merged by sorting what the heaps hold. `Heap<Ranks>`
/// is made of the ranks that it begins with, and gives worst(), replace_worst(rank) and ranks().
template <template <class> class Heap>
TopKSolution run_heaps(const TopKProblem& problem, const Context& context) {
  if (problem.n == 0 || problem.k == 0) return {};
  return with_ranks(problem, [&](const auto& ranks) {
    return with_counters(context, [&](auto counters) { return solve<Heap>(problem, ranks, counters, context); });
  });
}

}  // namespace skyrank::kernels::topk
