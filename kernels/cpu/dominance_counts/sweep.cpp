#include <algorithm>
#include <functional>

#include "kernels/cpu/dominance_counts/dominance_counts.hpp"
#include "kernels/cpu/parallel_sort.hpp"

// Counts by two keys: points go by in lexicographic order, so that no later one dominates an earlier one, and a point
// is dominated by those before it whose second key does not exceed its own. A Fenwick tree over the ranks of second
// keys (Fenwick, Software: Practice and Experience 24(3), 1994) adds up how many rows these stand for. The rows that a
// point dominates are counted the same way from the last point to the first.
//
// Cost: O(n log n) on one thread.
namespace skyrank::kernels::dominance_counts {
namespace {

constexpr std::size_t kCheckPoints = std::size_t{1} << 16;  ///< points between two looks at the stop token

/// Sums over beginnings of an array of numbers that grow.
class PrefixSums {
 public:
  explicit PrefixSums(std::size_t n) : sums_(n + 1) {}

  /// Adds to the number at `place`.
  void add(std::size_t place, std::int64_t number) {
    for (std::size_t i = place + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += number;
  }

  /// Returns the sum of the numbers at [0, place].
  std::int64_t up_to(std::size_t place) const {
    std::int64_t sum = 0;
    for (std::size_t i = place + 1; i > 0; i -= i & (~i + 1)) sum += sums_[i];
    return sum;
  }

 private:
  Vector<std::int64_t> sums_;
};

}  // namespace

void sweep(const WeightedPoints& points, Direction direction, std::int64_t* counts, const Context& context) {
  const auto second = [&](std::size_t point) { return points.codes[2 * point + 1]; };
  Vector<std::int32_t> values(points.size);
  for (std::size_t i = 0; i < points.size; ++i) values[i] = second(i);
  parallel_sort(values.begin(), values.end(), std::less<>(), context);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  PrefixSums sums(values.size());
  const bool forward = direction == Direction::dominators;
  for (std::size_t step = 0; step < points.size; ++step) {
    if (step % kCheckPoints == 0) context.check();
    const std::size_t point = forward ? step : points.size - 1 - step;
    const auto rank =
        static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), second(point)) - values.begin());
    const std::size_t place = forward ? rank : values.size() - 1 - rank;
    counts[point] = sums.up_to(place);
    sums.add(place, points.weights[point]);
  }
}

}  // namespace skyrank::kernels::dominance_counts
