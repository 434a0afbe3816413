#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/common/dominance.hpp"
#include "kernels/common/rows.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/parallel_sort.hpp"
#include "kernels/cpu/skyline/sample.hpp"

// Divide and conquer: the rows are divided at the median of the first dimension, the skylines of both halves are found
// in the same way, and rows of the worse half that one of the better half dominates are dropped. To find these, both
// skylines are divided at a median of the next dimension into A1, A2 and B1, B2: A1 is compared with B1 and A2 with B2
// in the same dimensions, A1 with B2 in those that are left, and A2 with B1 not at all. Two dimensions are settled by
// a sweep, one by a minimum.
//
// Kung et al. assume distinct values. Here rows are in lexicographic order and equal ones are represented by the first,
// so that no row dominates an earlier one; a division puts equal values on one side. The sweep sorts where Kung et al.
// merge sorted lists. Threads share the first sort, and nothing else, as in the paper.
//
// A comparison of two rows is a dominance test, and so is that of a row with the least key found by a sweep so far.
namespace skyrank::kernels::skyline {
namespace {

constexpr std::size_t kCopyGrain = 1 << 13;

template <class Key, class Counters>
class Division {
 public:
  using Part = std::span<std::uint32_t>;

  Division(const Rows<Key>& keys, std::size_t leaf, Counters& counters, const Context& context)
      : keys_(keys), d_(keys.dims()), leaf_(leaf), counters_(counters), context_(context) {}

  /// Moves the skyline of distinct rows in lexicographic order to their begin, in no order. Returns its size.
  std::size_t find_skyline(Part rows) {
    if (rows.size() <= 1) return rows.size();
    const std::size_t middle = rows.size() / 2;
    const std::size_t better = find_skyline(rows.first(middle));
    const std::size_t worse = find_skyline(rows.subspan(middle));
    const std::size_t kept = drop_dominated(rows.first(better), rows.subspan(middle, worse), 1);
    return append(rows, better, rows.subspan(middle, kept));
  }

 private:
  /// Moves those of `worse` to their begin that no row of `better` is at least as good as in all dimensions from
  /// `first` on. Returns their number. Both may change their order.
  std::size_t drop_dominated(Part better, Part worse, std::size_t first) {
    context_.check();
    if (better.empty() || worse.empty()) return worse.size();
    const std::size_t left = d_ - first;
    if (left == 0) return 0;
    if (left == 1) return drop_from(least_key(better, first), worse, first);
    if (std::min(better.size(), worse.size()) <= leaf_) return drop_one_by_one(better, worse, first);
    if (left == 2) return sweep(better, worse, first);
    const std::optional<Key> middle = find_middle(better, worse, first);
    if (!middle) return drop_dominated(better, worse, first + 1);
    const std::size_t better_low = divide(better, first, *middle);
    const std::size_t worse_low = divide(worse, first, *middle);
    const Part worse_high = worse.subspan(worse_low);
    const std::size_t low = drop_dominated(better.first(better_low), worse.first(worse_low), first);
    std::size_t high = drop_dominated(better.subspan(better_low), worse_high, first);
    high = drop_dominated(better.first(better_low), worse_high.first(high), first + 1);
    return append(worse, low, worse_high.first(high));
  }

  /// Moves `tail`, which lies behind, to the place after the first `size` rows. Returns the size of both.
  static std::size_t append(Part rows, std::size_t size, Part tail) {
    std::copy(tail.begin(), tail.end(), rows.begin() + static_cast<std::ptrdiff_t>(size));
    return size + tail.size();
  }

  /// Moves rows whose key is below `middle` to the begin. Returns their number.
  std::size_t divide(Part rows, std::size_t dim, Key middle) const {
    const auto high = std::partition(rows.begin(), rows.end(), [&](auto row) { return keys_[row][dim] < middle; });
    return static_cast<std::size_t>(high - rows.begin());
  }

  /// Finds the median of the keys of both, or the second least key if the median is the least. None if all are equal.
  std::optional<Key> find_middle(Part better, Part worse, std::size_t dim) {
    values_.clear();
    for (const std::uint32_t row : better) values_.push_back(keys_[row][dim]);
    for (const std::uint32_t row : worse) values_.push_back(keys_[row][dim]);
    const auto median = values_.begin() + static_cast<std::ptrdiff_t>(values_.size() / 2);
    std::nth_element(values_.begin(), median, values_.end());
    const Key least = *std::min_element(values_.begin(), median + 1);
    if (least < *median) return *median;
    const auto above = std::partition(median, values_.end(), [&](Key key) { return key == least; });
    if (above == values_.end()) return std::nullopt;
    return *std::min_element(above, values_.end());
  }

  Key least_key(Part rows, std::size_t dim) const {
    Key least = std::numeric_limits<Key>::max();
    for (const std::uint32_t row : rows) least = std::min(least, keys_[row][dim]);
    return least;
  }

  /// Drops rows of keys from `least` on.
  std::size_t drop_from(Key least, Part rows, std::size_t dim) {
    counters_.dominance_tests(rows.size());
    return divide(rows, dim, least);
  }

  std::size_t drop_one_by_one(Part better, Part worse, std::size_t first) {
    std::size_t kept = 0;
    for (const std::uint32_t row : worse) {
      const auto is_better = [&](std::uint32_t other) {
        counters_.dominance_tests(1);
        return dominates_distinct(keys_[other] + first, keys_[row] + first, d_ - first);
      };
      if (std::ranges::none_of(better, is_better)) worse[kept++] = row;
    }
    return kept;
  }

  /// Settles the last two dimensions: in ascending order of the first of them, the least key of the second of all rows
  /// of `better` so far decides.
  std::size_t sweep(Part better, Part worse, std::size_t dim) {
    const auto before = [&](std::uint32_t a, std::uint32_t b) { return keys_[a][dim] < keys_[b][dim]; };
    std::sort(better.begin(), better.end(), before);
    std::sort(worse.begin(), worse.end(), before);
    counters_.dominance_tests(worse.size());
    std::size_t next = 0;
    std::size_t kept = 0;
    Key least = std::numeric_limits<Key>::max();
    for (const std::uint32_t row : worse) {
      for (; next < better.size() && keys_[better[next]][dim] <= keys_[row][dim]; ++next) {
        least = std::min(least, keys_[better[next]][dim + 1]);
      }
      if (next == 0 || least > keys_[row][dim + 1]) worse[kept++] = row;
    }
    return kept;
  }

  const Rows<Key>& keys_;
  const std::size_t d_;
  const std::size_t leaf_;
  Vector<Key> values_;
  Counters& counters_;
  const Context& context_;
};

/// All rows in lexicographic order, equal ones by their numbers.
template <class Key>
RowIndices sort_rows(const SkylineProblem& problem, Rows<Key>& keys, const Context& context) {
  RowIndices order(problem.n);
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  parallel_for(problem.n, kCopyGrain, [&](std::size_t begin, std::size_t end) {
    context.check();
    keys.fill(begin, end);
  });
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const auto [p, q] = std::mismatch(keys[a], keys[a] + keys.dims(), keys[b]);
    return p == keys[a] + keys.dims() ? a < b : *p < *q;
  };
  parallel_sort(order.begin(), order.end(), before, context);
  return order;
}

template <class Key, class Counters>
SkylineSolution solve(const SkylineProblem& problem, std::size_t leaf, Counters counters, const Context& context) {
  Rows<Key> keys(problem.n, problem.keys);
  const RowIndices order = sort_rows(problem, keys, context);
  const auto equal = [&](std::uint32_t a, std::uint32_t b) {
    return std::equal(keys[a], keys[a] + keys.dims(), keys[b]);
  };
  RowIndices rows;
  std::unique_copy(order.begin(), order.end(), std::back_inserter(rows), equal);
  counters.candidates(rows.size());
  counters.bytes_read(problem.n * keys.dims() * sizeof(Key));
  counters.bytes_written(problem.n * keys.dims() * sizeof(Key));
  rows.resize(Division<Key, Counters>(keys, leaf, counters, context).find_skyline(rows));
  Vector<std::uint8_t> stays(problem.n);
  for (const std::uint32_t row : rows) stays[row] = 1;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (equal(order[i], order[i - 1])) stays[order[i]] = stays[order[i - 1]];
  }
  SkylineSolution solution;
  for (std::size_t row = 0; row < problem.n; ++row) {
    if (stays[row] != 0) solution.rows.push_back(static_cast<RowId>(row));
  }
  solution.work = counters.total();
  return solution;
}

constexpr Parameter kParameters[] = {
    {"leaf", "rows of a half up to which both halves are compared row by row, instead of divided", 1, 65536, 16},
};

SkylineSolution run(const SkylineProblem& problem, const ParameterValues& parameters, const Context& context) {
  if (problem.n == 0) return {};
  const auto leaf = static_cast<std::size_t>(parameters["leaf"]);
  return with_key_and_counters(problem, context, [&](auto key, auto counters) {
    return solve<decltype(key)>(problem, leaf, counters, context);
  });
}

}  // namespace

extern const SkylineAlgorithm divide_and_conquer{
    .name = "divide-and-conquer",
    .summary = "divides rows at medians, and merges skylines dimension by dimension",
    .source =
        "Börzsönyi, Kossmann, Stocker: The Skyline Operator, ICDE 2001, section 3.3; Kung, Luccio, Preparata: On "
        "Finding the Maxima of a Set of Vectors, JACM 22(4), 1975",
    .device = Device::cpu,
    .parameters = kParameters,
    .supports = supports_flat_pareto,
    .run = run,
};

}  // namespace skyrank::kernels::skyline
