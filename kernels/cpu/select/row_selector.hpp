#pragma once

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/select/order.hpp"
#include "kernels/cpu/select/scan.hpp"
#include "kernels/cpu/topk/radix_sort.hpp"
#include "kernels/cpu/topk/ranks.hpp"

// Selects the k smallest elements of one row of a matrix on one thread, in a pass that keeps a bound.
namespace skyrank::kernels::select {

/// Ranks of elements, a key above a position: distinct integers, of which smaller ones are better.
template <class Rank>
struct Ranks {
  static constexpr int kPositionBits = sizeof(Rank) * 4;

  static Rank of(std::uint64_t key, std::size_t position) {
    return static_cast<Rank>(static_cast<Rank>(key) << kPositionBits | position);
  }
  static std::uint64_t key_of(Rank rank) { return static_cast<std::uint64_t>(rank >> kPositionBits); }
  static std::size_t position_of(Rank rank) {
    return static_cast<std::size_t>(rank & ((Rank{1} << kPositionBits) - 1));
  }
};

/// Writes the ranks of elements from a position on.
template <class Word, bool kFloat, class Rank>
void rank_all(const Order<Word, kFloat>& order, const Word* words, std::size_t count, std::size_t position,
              Rank* ranks) {
  if constexpr (std::is_same_v<Rank, std::uint64_t>) {
    fill_ranks(order, words, count, position, ranks);
  } else {
    for (std::size_t i = 0; i < count; ++i) ranks[i] = Ranks<Rank>::of(order.key(words[i]), position + i);
  }
}

/// Sorts ranks, on one thread.
template <class Rank>
void sort_serially(Scratch<Rank>& ranks, const hwy::Sorter& sorter) {
  if (ranks.size() <= kMaxSortedByCounting) return sort_by_counting(ranks.data(), ranks.size());
  if constexpr (std::is_same_v<Rank, std::uint64_t>) {
    sorter(ranks.data(), ranks.size(), hwy::SortAscending());
  } else {
    // Highway has no sort of 128 bits without vectors.
    if (!has_vectors()) return std::sort(ranks.begin(), ranks.end());
    static_assert(sizeof(Rank) == sizeof(hwy::uint128_t) && alignof(Rank) == alignof(hwy::uint128_t));
    sorter(reinterpret_cast<hwy::uint128_t*>(ranks.data()), ranks.size(), hwy::SortAscending());
  }
}

/// Sorts ranks.
template <class Rank>
void sort_ranks(Scratch<Rank>& ranks, const hwy::Sorter& sorter, const Context& context) {
  constexpr std::size_t kMany = 1 << 17;   // worth several threads, of which
  constexpr std::size_t kManyThreads = 3;  // two are no faster than one with vectors
  if (ranks.size() >= kMany && concurrency() >= kManyThreads) return topk::RadixSort<Rank>::sort(ranks, 0, context);
  sort_serially(ranks, sorter);
}

/// Leaves the k smallest of `ranks`, in any order; if there were more, the greatest of these comes last.
template <class Rank>
void keep_best(Scratch<Rank>& ranks, std::size_t k, const hwy::Sorter& sorter) {
  constexpr std::size_t kSorted = 4096;  // up to here vectors sort as fast as nth_element selects
  if (ranks.size() <= k) return;
  if (ranks.size() <= kSorted) {
    sort_serially(ranks, sorter);
  } else {
    std::nth_element(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(k - 1), ranks.end());
  }
  ranks.resize(k);
}

/// Keeps the k best of the elements that it is shown, in the order of their positions. Elements beyond a limit are
/// passed over at memory speed; of those up to it some are kept, and the limit falls to the k-th best whenever these
/// are more than about 2 k. Since later positions lose ties, only keys below that limit take part from then on.
template <class Word, bool kFloat, class RankType>
class RowSelector {
 public:
  using Rank = RankType;

  RowSelector(const Order<Word, kFloat>& order, std::size_t k, const hwy::Sorter& sorter)
      : order_(order), k_(k), most_kept_(2 * k + kSpare), sorter_(sorter), offsets_(kScanWords) {}

  /// Begins another row, or part of one. Elements of keys beyond `limit` take no part.
  void begin(std::optional<Word> limit) {
    ranks_.clear();
    limit_ = limit;
    has_limit_ = limit.has_value();
    is_first_limit_ = !has_limit_;
    step_ = limit ? kFirstStep : std::max<std::size_t>(most_kept_, kFirstWords);
    if (limit) places_ = order_.up_to(*limit);
  }

  /// Shows elements from a position on.
  void add(const Word* words, std::size_t count, std::size_t position) {
    while (count > 0 && !(has_limit_ && places_.empty)) {
      const std::size_t size = std::min(count, step_);
      has_limit_ ? add_up_to_limit(words, size, position) : add_all(words, size, position);
      if (limit_ && ranks_.size() >= k_) leave_out_equal();
      if (ranks_.size() > most_kept_ || (is_first_limit_ && step_ < kScanWords && ranks_.size() > k_)) lower_limit();
      step_ = has_limit_ ? std::min(kGrowth * step_, kScanWords) : step_;
      words += size;
      count -= size;
      position += size;
    }
  }

  /// The k best elements shown, and some others; fewer than k only if so few were shown up to the limit.
  Scratch<Rank>& ranks() { return ranks_; }

 private:
  static constexpr std::size_t kSpare = 64;
  static constexpr std::size_t kFirstWords = 256;  ///< elements before there is a limit
  static constexpr std::size_t kFirstStep = 128;   ///< elements before it is known if many are equal to the limit
  static constexpr std::size_t kGrowth = 4;

  void add_all(const Word* words, std::size_t count, std::size_t position) {
    const std::size_t before = ranks_.size();
    ranks_.resize(before + count);
    rank_all(order_, words, count, position, ranks_.data() + before);
  }

  void add_up_to_limit(const Word* words, std::size_t count, std::size_t position) {
    const std::size_t found = find_places(words, count, kFloat, places_, offsets_.data());
    const std::size_t before = ranks_.size();
    ranks_.resize(before + found);
    for (std::size_t i = 0; i < found; ++i) {
      ranks_[before + i] = Ranks<Rank>::of(order_.key(words[offsets_[i]]), position + offsets_[i]);
    }
  }

  /// Passes over elements that are equal to the limit from now on, as there are k up to it before them; of those that
  /// were kept, drops the ones that cannot be among the k best either.
  void leave_out_equal() {
    places_ = order_.below(*limit_);
    const auto is_below = [&](Rank rank) { return Ranks<Rank>::key_of(rank) < *limit_; };
    const auto below = static_cast<std::size_t>(std::count_if(ranks_.begin(), ranks_.end(), is_below));
    std::size_t equal = below < k_ ? k_ - below : 0;
    const auto is_late = [&](Rank rank) {
      if (is_below(rank)) return false;
      if (equal == 0) return true;
      --equal;
      return false;
    };
    ranks_.erase(std::remove_if(ranks_.begin(), ranks_.end(), is_late), ranks_.end());
    limit_.reset();
  }

  /// There are more than k ranks.
  void lower_limit() {
    keep_best(ranks_, k_, sorter_);
    has_limit_ = true;
    places_ = order_.below(static_cast<Word>(Ranks<Rank>::key_of(ranks_.back())));
  }

  const Order<Word, kFloat>& order_;
  std::size_t k_;
  std::size_t most_kept_;
  const hwy::Sorter& sorter_;
  std::size_t step_ = kScanWords;  ///< elements that are looked at together
  bool has_limit_ = false;
  bool is_first_limit_ = false;  ///< the row began without a limit
  std::optional<Word> limit_;    ///< the key up to which elements take part; none once it is below that, or a place
  Interval<Word> places_;
  Scratch<Rank> ranks_;
  Scratch<std::uint32_t> offsets_;
};

}  // namespace skyrank::kernels::select
