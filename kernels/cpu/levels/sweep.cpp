#include <algorithm>

#include "kernels/cpu/levels/levels.hpp"
#include "kernels/cpu/levels/sorted_rows.hpp"

// Levels by one key and by two.
//
// One key: rows are sorted, and the level of a row is the number of different keys before its own. Two keys: rows go by
// in lexicographic order, and every level remembers the least second key among its rows. No row that comes later has a
// smaller first key, so a row is dominated by one of a level exactly if that least key does not exceed its own. The
// least keys ascend from level to level: a binary search finds the first level that does not dominate the row, and the
// row's second key is that level's new least one. It is Jensen's sweep (Reducing the Run-Time Complexity of
// Multiobjective EAs, IEEE Transactions on Evolutionary Computation 7(5), 2003, section III-A), the same as patience
// sorting for longest increasing subsequences (Fredman, Discrete Mathematics 11, 1975).
//
// Cost: a radix sort for each key, then O(n log levels) on one thread. 10^6 rows on 10^6 levels took 0.04 s by one key
// and 0.24 s by two, on two threads of a busy machine; the target is 0.5 s.
namespace skyrank::kernels::levels {
namespace {

constexpr std::size_t kCheckRows = std::size_t{1} << 16;  ///< rows between two looks at the stop token

/// Calls visit(begin, end) for every run of equal rows in their order.
template <class Equal, class Visit>
void for_each_run(std::size_t n, const Context& context, const Equal& equal, const Visit& visit) {
  for (std::size_t begin = 0, checked = 0; begin < n;) {
    if (begin >= checked) {
      context.check();
      checked = begin + kCheckRows;
    }
    std::size_t end = begin + 1;
    while (end < n && equal(end - 1, end)) ++end;
    visit(begin, end);
    begin = end;
  }
}

/// The greatest height of a run of equal rows.
std::int32_t height_of_run(const LevelsProblem& problem, const Scratch<PackedRow>& rows, std::size_t begin,
                           std::size_t end) {
  if (problem.heights.empty()) return 1;
  std::int32_t height = 1;
  for (std::size_t i = begin; i < end; ++i) height = std::max(height, problem.heights[row_of(rows[i])]);
  return height;
}

template <class Key>
LevelsSolution ranks(const LevelsProblem& problem, const Context& context) {
  const Key* const keys = problem.keys[0].as<Key>();
  Scratch<PackedRow> rows = all_rows(problem.n);
  sort_by_column(keys, rows, context);
  LevelsSolution solution{Vector<std::int32_t>(problem.n), {}};
  std::int32_t level = 0;
  for_each_run(
      problem.n, context, [&](std::size_t a, std::size_t b) { return keys[row_of(rows[a])] == keys[row_of(rows[b])]; },
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) solution.levels[row_of(rows[i])] = level;
        level = end_of_levels(level, height_of_run(problem, rows, begin, end), problem.max_levels);
      });
  return solution;
}

/// The least second key of each level so far, ascending.
template <class Key>
class LeastKeys {
 public:
  /// The first level that has no row with a second key up to `key`.
  std::int32_t first_above(Key key) const {
    return static_cast<std::int32_t>(std::upper_bound(keys_.begin(), keys_.end(), key) - keys_.begin());
  }

  /// A row of this key takes up the levels [begin, end), which all are above it or new.
  void set(std::int32_t begin, std::int32_t end, Key key) {
    if (static_cast<std::size_t>(end) > keys_.size()) keys_.resize(static_cast<std::size_t>(end));
    std::fill(keys_.begin() + begin, keys_.begin() + end, key);
  }

 private:
  Vector<Key> keys_;
};

template <class Key>
LevelsSolution sweep_pairs(const LevelsProblem& problem, const Context& context) {
  const Key* const first = problem.keys[0].as<Key>();
  const Key* const second = problem.keys[1].as<Key>();
  Scratch<PackedRow> rows = all_rows(problem.n);
  sort_by_column(second, rows, context);
  sort_by_column(first, rows, context);
  LevelsSolution solution{Vector<std::int32_t>(problem.n), {}};
  LeastKeys<Key> least;
  for_each_run(
      problem.n, context,
      [&](std::size_t a, std::size_t b) {
        const std::uint32_t x = row_of(rows[a]);
        const std::uint32_t y = row_of(rows[b]);
        return first[x] == first[y] && second[x] == second[y];
      },
      [&](std::size_t begin, std::size_t end) {
        const Key key = second[row_of(rows[begin])];
        const std::int32_t level = std::min(least.first_above(key), problem.max_levels);
        least.set(level, end_of_levels(level, height_of_run(problem, rows, begin, end), problem.max_levels), key);
        for (std::size_t i = begin; i < end; ++i) solution.levels[row_of(rows[i])] = level;
      });
  return solution;
}

}  // namespace

LevelsSolution dense_ranks(const LevelsProblem& problem, const Context& context) {
  return problem.keys[0].width == KeyWidth::bytes8 ? ranks<std::uint64_t>(problem, context)
                                                   : ranks<std::uint32_t>(problem, context);
}

LevelsSolution sweep(const LevelsProblem& problem, const Context& context) {
  return problem.keys[0].width == KeyWidth::bytes8 ? sweep_pairs<std::uint64_t>(problem, context)
                                                   : sweep_pairs<std::uint32_t>(problem, context);
}

}  // namespace skyrank::kernels::levels
