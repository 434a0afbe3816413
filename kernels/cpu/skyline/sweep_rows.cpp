#include "kernels/cpu/skyline/sweep_rows.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/skyline/lexicographic.hpp"
#include "kernels/cpu/skyline/staircase.hpp"

// Rows go by in lexicographic order, so that a row is dominated exactly if one before it that differs is nowhere
// greater in the other keys: in the second key, whose least value so far decides, or in two, for which the staircase of
// the rows so far does.
//
// Threads sweep slabs of consecutive rows. What stays in a slab then meets the staircase of all slabs before it.
// Columns in which all rows are equal say nothing and are left out.
//
// Kung, Luccio, Preparata: On Finding the Maxima of a Set of Vectors, JACM 22(4), 1975, sections 2 and 3; the tree that
// keeps the staircase is one of bits over the ranks of the second keys.
namespace skyrank::kernels::skyline {
namespace {

constexpr std::size_t kGrain = 1 << 14;      ///< rows that one thread takes at a time
constexpr std::size_t kCheckRows = 1 << 14;  ///< rows between two looks at the stop token
constexpr std::size_t kMinSlab = 1 << 13;    ///< rows; of fewer, another thread saves nothing
constexpr std::size_t kMaxSlabs = 16;        ///< the staircases of slabs are merged one by one

/// Keys of the given rows, side by side.
template <class Key>
Scratch<Key> keys_of(const Key* column, std::span<const std::uint32_t> rows, const Context& context) {
  Scratch<Key> keys(rows.size());
  parallel_for(rows.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    context.check();
    for (std::size_t i = begin; i < end; ++i) keys[i] = column[rows[i]];
  });
  return keys;
}

/// Columns of a number of rows, without those in which all are equal.
template <class Key>
struct Columns {
  std::size_t n = 0;
  Vector<Scratch<Key>> keys;
  Vector<const Key*> data;
};

template <class Key>
Columns<Key> varying_columns(const SkylineProblem& problem, std::span<const std::uint32_t> rows,
                             const Context& context) {
  Columns<Key> columns{rows.size(), {}, {}};
  for (const KeyColumn& column : problem.keys) {
    Scratch<Key> keys = keys_of(column.as<Key>(), rows, context);
    if (std::ranges::all_of(keys, [&](Key key) { return key == keys.front(); })) continue;
    columns.keys.push_back(std::move(keys));
    columns.data.push_back(columns.keys.back().data());
  }
  return columns;
}

/// Flags the rows of the least key.
template <class Key>
Vector<std::uint8_t> flags_of_least(const Columns<Key>& columns) {
  const Scratch<Key>& keys = columns.keys.front();
  const Key least = std::ranges::min(keys);
  Vector<std::uint8_t> stays(columns.n);
  std::ranges::transform(keys, stays.begin(), [&](Key key) { return key == least; });
  return stays;
}

/// Consecutive rows of the order, and which of them stay so far.
template <class Key>
struct Slab {
  std::size_t begin = 0;
  std::size_t end = 0;
  Scratch<Key> seconds = {};
  Scratch<Key> thirds = {};  ///< zeros if there are two columns
  Vector<std::uint8_t> stays = {};
  Steps<Key> steps = {};  ///< staircase of those that stay
};

template <class Key>
class Sweep {
 public:
  Sweep(const Columns<Key>& columns, const Context& context)
      : columns_(columns), context_(context), rows_(LexicographicSort<Key>(columns.data, context)(columns.n)) {}

  Vector<std::uint8_t> operator()() {
    Vector<Slab<Key>> slabs = cut();
    parallel_for(slabs.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t s = begin; s < end; ++s) sweep(slabs[s]);
    });
    Steps<Key> before = std::move(slabs.front().steps);
    for (std::size_t s = 1; s < slabs.size(); ++s) {
      drop_dominated(before, slabs[s]);
      before = merged(before, slabs[s].steps);
    }
    Vector<std::uint8_t> stays(columns_.n);
    parallel_for(slabs.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (const Slab<Key>& slab : std::span(slabs).subspan(begin, end - begin)) {
        for (std::size_t i = slab.begin; i < slab.end; ++i) stays[row_of(rows_[i])] = slab.stays[i - slab.begin];
      }
    });
    return stays;
  }

 private:
  bool are_equal(KeyedRow a, KeyedRow b) const {
    return std::ranges::all_of(columns_.data, [&](const Key* keys) { return keys[row_of(a)] == keys[row_of(b)]; });
  }

  /// Cuts the order into slabs; equal rows are in the same one.
  Vector<Slab<Key>> cut() const {
    const std::size_t count = std::clamp<std::size_t>(columns_.n / kMinSlab, 1, std::min(concurrency(), kMaxSlabs));
    Vector<Slab<Key>> slabs;
    std::size_t begin = 0;
    for (std::size_t s = 1; s <= count; ++s) {
      const auto place = rows_.begin() + static_cast<std::ptrdiff_t>(columns_.n * s / count);
      const auto end =
          std::partition_point(place, rows_.end(), [&](KeyedRow row) { return are_equal(row, place[-1]); });
      const auto until = static_cast<std::size_t>(end - rows_.begin());
      if (until > begin) slabs.push_back({.begin = begin, .end = until});
      begin = std::max(begin, until);
    }
    return slabs;
  }

  void sweep(Slab<Key>& slab) const {
    const std::size_t n = slab.end - slab.begin;
    slab.seconds.resize(n);
    slab.thirds.resize(n);
    slab.stays.resize(n);
    const Key* const seconds = columns_.data[1];
    const Key* const thirds = columns_.data.size() > 2 ? columns_.data[2] : nullptr;
    for (std::size_t i = 0; i < n; ++i) {
      if (i % kCheckRows == 0) context_.check();
      const std::uint32_t row = row_of(rows_[slab.begin + i]);
      slab.seconds[i] = seconds[row];
      slab.thirds[i] = thirds != nullptr ? thirds[row] : 0;
    }
    if (thirds != nullptr) {
      sweep_by_two_keys(slab);
    } else {
      sweep_by_one_key(slab);
    }
  }

  /// Calls stays(i) for the first of equal rows and gives the others its result.
  template <class Stays>
  void each_row(Slab<Key>& slab, const Stays& stays) const {
    for (std::size_t i = 0; i < slab.stays.size(); ++i) {
      if (i % kCheckRows == 0) context_.check();
      const bool again = i > 0 && slab.seconds[i] == slab.seconds[i - 1] && slab.thirds[i] == slab.thirds[i - 1] &&
                         are_equal(rows_[slab.begin + i], rows_[slab.begin + i - 1]);
      slab.stays[i] = again ? slab.stays[i - 1] : static_cast<std::uint8_t>(stays(i));
    }
  }

  void sweep_by_one_key(Slab<Key>& slab) const {
    Step<Key> least{slab.seconds.front(), 0};
    each_row(slab, [&](std::size_t i) {
      const bool stays = i == 0 || slab.seconds[i] < least.second;
      if (stays) least.second = slab.seconds[i];
      return stays;
    });
    slab.steps.push_back(least);
  }

  void sweep_by_two_keys(Slab<Key>& slab) const {
    const std::size_t n = slab.seconds.size();
    const Key* const seconds = slab.seconds.data();
    Scratch<std::uint32_t> ranks(n);
    RawVector<Key> of_rank;
    for (const KeyedRow keyed : LexicographicSort<Key>({&seconds, 1}, context_)(n)) {
      const Key second = seconds[row_of(keyed)];
      if (of_rank.empty() || of_rank.back() != second) of_rank.push_back(second);
      ranks[row_of(keyed)] = static_cast<std::uint32_t>(of_rank.size() - 1);
    }
    Staircase<Key> staircase(of_rank.size());
    each_row(slab, [&](std::size_t i) { return staircase.add(ranks[i], slab.thirds[i]); });
    slab.steps = staircase.steps(of_rank);
  }

  /// Takes out what a row of earlier slabs dominates.
  void drop_dominated(const Steps<Key>& before, Slab<Key>& slab) const {
    parallel_for(slab.stays.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      context_.check();
      for (std::size_t i = begin; i < end; ++i) {
        if (slab.stays[i] != 0) slab.stays[i] = is_above(before, {slab.seconds[i], slab.thirds[i]}) ? 0 : 1;
      }
    });
  }

  const Columns<Key>& columns_;
  const Context& context_;
  const Scratch<KeyedRow> rows_;  ///< in lexicographic order
};

}  // namespace

template <class Key>
Vector<std::uint8_t> sweep_rows(const SkylineProblem& problem, std::span<const std::uint32_t> rows,
                                const Context& context) {
  const Columns<Key> columns = varying_columns<Key>(problem, rows, context);
  switch (columns.keys.size()) {
    case 0: return Vector<std::uint8_t>(rows.size(), 1);
    case 1: return flags_of_least(columns);
    default: return Sweep(columns, context)();
  }
}

template Vector<std::uint8_t> sweep_rows<std::uint32_t>(const SkylineProblem&, std::span<const std::uint32_t>,
                                                        const Context&);
template Vector<std::uint8_t> sweep_rows<std::uint64_t>(const SkylineProblem&, std::span<const std::uint32_t>,
                                                        const Context&);

}  // namespace skyrank::kernels::skyline
