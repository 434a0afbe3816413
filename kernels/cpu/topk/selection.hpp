#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/topk/answer.hpp"
#include "kernels/cpu/topk/radix_sort.hpp"
#include "kernels/cpu/topk/sort_ranks.hpp"

namespace skyrank::kernels::topk {

/// The k smallest of distinct ranks, in order. `by_row` says that ranks of equal keys stand in order already.
template <class Ranks>
void keep_best_in_order(const Ranks& ranks, Scratch<typename Ranks::Rank>& candidates, std::size_t k, bool by_row,
                        const Context& context) {
  using Rank = typename Ranks::Rank;
  constexpr std::size_t kFewer = 1 << 14;  ///< below this many, comparing is as fast as counting digits
  constexpr std::size_t kSparse = 4;       ///< candidates for one row of the answer that make cutting first worth it
  const auto less = ranks.order();
  k = std::min(k, candidates.size());
  if (std::ranges::is_sorted(candidates, less)) {  // of rows that were in order
    candidates.resize(k);
    return;
  }
  if (k < candidates.size() && (candidates.size() <= kFewer || candidates.size() / kSparse > k)) {
    std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(k), candidates.end(), less);
    candidates.resize(k);
    by_row = false;
  }
  if constexpr (std::is_base_of_v<IntegerRanks<Rank>, Ranks>) {
    if (candidates.size() > kFewer) {
      RadixSort<Rank>::sort(candidates, by_row ? ranks.rows().bits() : 0, context);
      candidates.resize(k);
      return;
    }
  }
  sort_ranks(ranks, std::span<Rank>(candidates), context);
  candidates.resize(k);
}

}  // namespace skyrank::kernels::topk
