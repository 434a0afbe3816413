#include <algorithm>
#include <iterator>
#include <mutex>
#include <span>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/topk/answer.hpp"
#include "kernels/cpu/topk/selection.hpp"
#include "kernels/papers/common/subrange.hpp"
#include "kernels/papers/cpu/topk/noted_clock.hpp"

// Dr. Top-k on the CPU, for its counts of work, which do not depend on the device. The `beta` least elements of each
// subrange of rows are its delegates; the k-th least of all delegates is a bound on the k-th least element. Only
// subranges all of whose delegates are within the bound can hold other elements within it (rule 3). Those elements
// (rule 2) and the delegates within the bound are concatenated, and the k least of them are the answer.
//
// Elements are ranks, hence distinct. The selections are std::nth_element. A last subrange of fewer than `beta` rows
// has all of them as delegates.
namespace skyrank::kernels::topk {
namespace {

constexpr int kMaxBeta = 4;
constexpr std::size_t kTaskRows = 1 << 15;  ///< rows that one thread takes at a time, at least

struct Options {
  int exponent = 0;
  int beta = 2;
  bool filter = true;
};

template <class Ranks, class Counters>
class DrTopK {
 public:
  using Rank = typename Ranks::Rank;

  DrTopK(std::size_t n, std::size_t k, const Ranks& ranks, const Options& options, Counters& counters,
         const Context& context)
      : n_(n),
        k_(k),
        ranks_(ranks),
        beta_(static_cast<std::size_t>(options.beta)),
        filter_(options.filter),
        subranges_(cuda::topk::delegate::subranges_for(n, k, options.beta, options.exponent)),
        counters_(counters),
        context_(context),
        clock_(context.count_work) {}

  /// The k best ranks in order.
  Scratch<Rank> operator()() {
    Scratch<Rank> rest;
    if (subranges_.useful) {
      const Scratch<Rank> delegates = find_delegates();
      clock_.end("delegates", delegates.size());
      const Rank bound = bound_of(delegates);
      clock_.end("first top-k", k_);
      rest = concatenate(delegates, bound);
    } else {
      rest.resize(n_);
      ranks_.fill(0, n_, rest.data());
      clock_.end("delegates", 0);
      clock_.end("first top-k", 0);
    }
    counters_.candidates(rest.size());
    counters_.bytes_written(rest.size() * sizeof(Rank));
    clock_.end("concatenation", rest.size());
    keep_best_in_order(ranks_, rest, k_, false, context_);
    clock_.end("second top-k", k_);
    return rest;
  }

 private:
  std::size_t begin_of(std::size_t subrange) const { return subrange << subranges_.exponent; }
  std::size_t size_of(std::size_t subrange) const { return std::min(n_, begin_of(subrange + 1)) - begin_of(subrange); }
  std::size_t delegates_of(std::size_t subrange) const { return std::min(beta_, size_of(subrange)); }

  /// Calls body(first, last) for ranges of subranges, at the same time.
  template <class Body>
  void for_subranges(const Body& body) {
    const std::size_t grain = std::max<std::size_t>(1, kTaskRows >> subranges_.exponent);
    parallel_for(subranges_.count, grain, [&](std::size_t first, std::size_t last) {
      context_.check();
      body(first, last);
    });
  }

  /// The least ranks of each subrange in ascending order, one subrange after the other.
  Scratch<Rank> find_delegates() {
    Scratch<Rank> delegates((subranges_.count - 1) * beta_ + delegates_of(subranges_.count - 1));
    for_subranges([&](std::size_t first, std::size_t last) {
      Scratch<Rank> rows;
      for (std::size_t subrange = first; subrange < last; ++subrange) {
        rows.resize(size_of(subrange));
        ranks_.fill(begin_of(subrange), begin_of(subrange) + rows.size(), rows.data());
        const auto count = static_cast<std::ptrdiff_t>(delegates_of(subrange));
        std::partial_sort_copy(rows.begin(), rows.end(), &delegates[subrange * beta_],
                               &delegates[subrange * beta_] + count, ranks_.order());
      }
    });
    counters_.bytes_written(delegates.size() * sizeof(Rank));
    return delegates;
  }

  Rank bound_of(const Scratch<Rank>& delegates) const {
    Scratch<Rank> selected = delegates;
    const auto last = selected.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(selected.begin(), last, selected.end(), ranks_.order());
    return *last;
  }

  Scratch<Rank> concatenate(const Scratch<Rank>& delegates, Rank bound) {
    const auto within = [&](Rank rank) { return !ranks_.less(bound, rank); };
    std::mutex mutex;
    Scratch<Rank> all;
    for_subranges([&](std::size_t first, std::size_t last) {
      Scratch<Rank> found;
      Scratch<Rank> rows;
      for (std::size_t subrange = first; subrange < last; ++subrange) {
        const std::span<const Rank> mine(&delegates[subrange * beta_], delegates_of(subrange));
        if (mine.size() == size_of(subrange) || !within(mine.back())) {
          std::ranges::copy_if(mine, std::back_inserter(found), within);
          continue;
        }
        rows.resize(size_of(subrange));
        ranks_.fill(begin_of(subrange), begin_of(subrange) + rows.size(), rows.data());
        std::ranges::copy_if(rows, std::back_inserter(found), [&](Rank rank) { return !filter_ || within(rank); });
      }
      const std::scoped_lock lock(mutex);
      all.insert(all.end(), found.begin(), found.end());
    });
    return all;
  }

  const std::size_t n_;
  const std::size_t k_;
  const Ranks& ranks_;
  const std::size_t beta_;
  const bool filter_;
  const cuda::topk::delegate::Subranges subranges_;
  Counters& counters_;
  const Context& context_;
  NotedClock clock_;
};

template <class Ranks, class Counters>
TopKSolution solve(const TopKProblem& problem, const Ranks& ranks, const Options& options, Counters counters,
                   const Context& context) {
  using Rank = typename Ranks::Rank;
  const std::size_t n = problem.n;
  const std::size_t k = std::min(problem.k, n);
  const Scratch<Rank> best = DrTopK<Ranks, Counters>(n, k, ranks, options, counters, context)();
  counters.bytes_read(n * key_bytes(problem));
  return solution_of_best(problem, ranks, std::span<const Rank>(best), counters, context);
}

constexpr Parameter kParameters[] = {
    {"alpha", "subranges have 2^alpha rows; 0: as the paper's rule 4 says", 0, 16, 0},
    {"beta", "delegates of a subrange", 1, kMaxBeta, 2},
    {"filter", "0: subranges are concatenated whole, without the paper's rule 2", 0, 1, 1},
};

TopKSolution run(const TopKProblem& problem, const ParameterValues& parameters, const Context& context) {
  if (problem.n == 0 || problem.k == 0) return {};
  const Options options{.exponent = static_cast<int>(parameters["alpha"]),
                        .beta = static_cast<int>(parameters["beta"]),
                        .filter = parameters["filter"] != 0};
  return with_ranks(problem, [&](const auto& ranks) {
    return with_counters(context, [&](auto counters) { return solve(problem, ranks, options, counters, context); });
  });
}

}  // namespace

extern const TopKAlgorithm dr_topk{
    .name = "dr-topk",
    .summary = "the least of each subrange bound what has to be selected from; Dr. Top-k on the CPU",
    .source = "Gaihre et al.: Dr. Top-k: Delegate-Centric Top-k on GPUs, SC 2021, section 4",
    .device = Device::cpu,
    .parameters = kParameters,
    .supports = needs_key_columns,
    .run = run,
};

}  // namespace skyrank::kernels::topk
