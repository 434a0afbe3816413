#include <algorithm>
#include <span>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/topk/answer.hpp"
#include "kernels/cpu/topk/selection.hpp"
#include "kernels/papers/common/subrange.hpp"
#include "kernels/papers/cpu/topk/noted_clock.hpp"

// Block-Max WAND of a query of one term: rows are the documents, in blocks, each with its best score (here the least
// rank). Row after row is tested: if its block's best is better than the threshold, the worst of the k best so far, the
// row is fully evaluated, which may raise the threshold; otherwise the rest of the block is skipped. As in a search
// engine the blocks' bests are an index, and the scan is sequential.
//
// Dr. Top-k (Gaihre et al., SC 2021, sections 4.4 and 6.6) compares its workload with the rows that are fully
// evaluated, `candidates` here. The blocks are the subranges of Dr. Top-k.
namespace skyrank::kernels::topk {
namespace {

constexpr std::size_t kIndexGrain = 1 << 15;

template <class Ranks, class Counters>
class BlockMaxWand {
 public:
  using Rank = typename Ranks::Rank;

  BlockMaxWand(std::size_t n, std::size_t k, const Ranks& ranks, int exponent, Counters& counters,
               const Context& context)
      : n_(n), k_(k), ranks_(ranks), exponent_(exponent), counters_(counters), context_(context) {}

  /// The k best ranks in order.
  Scratch<Rank> operator()() {
    NotedClock clock(context_.count_work);
    const Scratch<Rank> least = find_least_of_blocks();
    clock.end("block maxima", least.size());
    std::uint64_t evaluated = 0;
    for (std::size_t block = 0; block < least.size(); ++block) {
      context_.check();
      evaluated += scan(block, least[block]);
    }
    counters_.candidates(evaluated);
    clock.end("evaluation", evaluated);
    keep_best_in_order(ranks_, best_, k_, false, context_);
    return std::move(best_);
  }

 private:
  std::size_t begin_of(std::size_t block) const { return std::min(n_, block << exponent_); }

  Scratch<Rank> find_least_of_blocks() {
    Scratch<Rank> least(((n_ - 1) >> exponent_) + 1);
    const std::size_t grain = std::max<std::size_t>(1, kIndexGrain >> exponent_);
    parallel_for(least.size(), grain, [&](std::size_t first, std::size_t last) {
      context_.check();
      Scratch<Rank> rows;
      for (std::size_t block = first; block < last; ++block) {
        rows.resize(begin_of(block + 1) - begin_of(block));
        ranks_.fill(begin_of(block), begin_of(block + 1), rows.data());
        least[block] = *std::ranges::min_element(rows, ranks_.order());
      }
    });
    counters_.bytes_written(least.size() * sizeof(Rank));
    return least;
  }

  /// Scans the rows of a block until the threshold rules out the rest. Returns the number of rows evaluated.
  std::size_t scan(std::size_t block, Rank least) {
    std::size_t row = begin_of(block);
    for (; row < begin_of(block + 1); ++row) {
      if (!may_have_better(least)) break;
      evaluate(ranks_.rank_at(row));
    }
    return row - begin_of(block);
  }

  /// Returns true if rows of a block are to be evaluated: if its best score is better than the threshold, or, where the
  /// last of equal rows win, as good.
  bool may_have_better(Rank least) const {
    if (best_.size() < k_) return true;
    const Rank threshold = best_.front();
    return ranks_.less(least, threshold) && (ranks_.rows().reversed() || !ranks_.same_key(least, threshold));
  }

  /// Puts a rank into the heap of the k best, whose worst is in front, if it belongs there.
  void evaluate(Rank rank) {
    if (best_.size() == k_) {
      if (!ranks_.less(rank, best_.front())) return;
      std::ranges::pop_heap(best_, ranks_.order());
      best_.back() = rank;
    } else {
      best_.push_back(rank);
    }
    std::ranges::push_heap(best_, ranks_.order());
  }

  const std::size_t n_;
  const std::size_t k_;
  const Ranks& ranks_;
  const int exponent_;
  Scratch<Rank> best_;
  Counters& counters_;
  const Context& context_;
};

template <class Ranks, class Counters>
TopKSolution solve(const TopKProblem& problem, const Ranks& ranks, int exponent, Counters counters,
                   const Context& context) {
  using Rank = typename Ranks::Rank;
  constexpr int kBeta = 2;  // that of Dr. Top-k, on which the length of its subranges may depend
  const std::size_t n = problem.n;
  const std::size_t k = std::min(problem.k, n);
  if (exponent == 0) exponent = cuda::topk::delegate::subranges_for(n, k, kBeta).exponent;
  const Scratch<Rank> best = BlockMaxWand<Ranks, Counters>(n, k, ranks, exponent, counters, context)();
  counters.bytes_read(n * key_bytes(problem));
  return solution_of_best(problem, ranks, std::span<const Rank>(best), counters, context);
}

constexpr Parameter kParameters[] = {
    {"alpha", "blocks have 2^alpha rows; 0: as many as Dr. Top-k's subranges", 0, 16, 0},
};

TopKSolution run(const TopKProblem& problem, const ParameterValues& parameters, const Context& context) {
  if (problem.n == 0 || problem.k == 0) return {};
  const auto exponent = static_cast<int>(parameters["alpha"]);
  return with_ranks(problem, [&](const auto& ranks) {
    return with_counters(context, [&](auto counters) { return solve(problem, ranks, exponent, counters, context); });
  });
}

}  // namespace

extern const TopKAlgorithm block_max_wand{
    .name = "block-max-wand",
    .summary = "skips blocks of rows whose best is no better than the k-th so far; for its count of work",
    .source =
        "Ding, Suel: Faster Top-k Document Retrieval Using Block-Max Indexes, SIGIR 2011, as Gaihre et al. compare "
        "with it (Dr. Top-k, SC 2021, section 4.4)",
    .device = Device::cpu,
    .parameters = kParameters,
    .supports = needs_key_columns,
    .run = run,
};

}  // namespace skyrank::kernels::topk
