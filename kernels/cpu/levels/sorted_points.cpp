#include "kernels/cpu/levels/sorted_points.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/parallel_sort.hpp"
#include "kernels/cpu/topk/radix_sort.hpp"

namespace skyrank::kernels::levels {
namespace {

/// Codes of one column, row by row: keys of 4 bytes as they are, those of 8 bytes as ranks.
template <class Key>
void fill_codes(const Key* keys, std::size_t code, Points& rows, const Context& context) {
  const std::size_t n = rows.size();
  if constexpr (sizeof(Key) == 4) {
    parallel_for(n, kSortGrain, [&](std::size_t begin, std::size_t end) {
      constexpr Key kSign = Key{1} << 31;
      for (std::size_t row = begin; row < end; ++row) rows[row][code] = static_cast<std::int32_t>(keys[row] ^ kSign);
    });
  } else {
    Scratch<PackedRow> order = all_rows(n);
    sort_by_column(keys, order, context);
    std::int32_t rank = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0 && keys[row_of(order[i - 1])] != keys[row_of(order[i])]) ++rank;
      rows[row_of(order[i])][code] = rank;
    }
  }
}

template <class Key>
Points codes_of(const LevelsProblem& problem, const Context& context) {
  Points rows(problem.n, problem.keys.size());
  for (std::size_t c = 0; c < problem.keys.size(); ++c) {
    context.check();
    fill_codes(problem.keys[c].as<Key>(), c, rows, context);
  }
  return rows;
}

/// Rows in lexicographic order of their codes.
Scratch<PackedRow> in_order(const Points& codes, const Context& context) {
  const std::size_t n = codes.size();
  const std::size_t d = codes.dims();
  Scratch<PackedRow> rows(n);
  parallel_for(n, kSortGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const std::uint32_t bits = static_cast<std::uint32_t>(codes[row][0]) ^ (std::uint32_t{1} << 31);
      rows[row] = std::uint64_t{bits} << 32 | row;
    }
  });
  topk::RadixSort<PackedRow>::sort(rows, 32, context);
  const auto before = [&](PackedRow a, PackedRow b) {
    const std::int32_t* const x = codes[row_of(a)];
    const std::int32_t* const y = codes[row_of(b)];
    const auto [p, q] = std::mismatch(x + 1, x + d, y + 1);
    return p == x + d ? a < b : *p < *q;
  };
  for (std::size_t begin = 0; begin < n;) {
    std::size_t end = begin + 1;
    while (end < n && rows[end] >> 32 == rows[begin] >> 32) ++end;
    if (end - begin > 1) {
      parallel_sort(rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.begin() + static_cast<std::ptrdiff_t>(end),
                    before, context);
    }
    begin = end;
  }
  return rows;
}

}  // namespace

SortedPoints sorted_points(const LevelsProblem& problem, const Context& context) {
  const std::size_t n = problem.n;
  const std::size_t d = problem.keys.size();
  const Points codes = problem.keys[0].width == KeyWidth::bytes8 ? codes_of<std::uint64_t>(problem, context)
                                                                 : codes_of<std::uint32_t>(problem, context);
  SortedPoints sorted{Points(n, d), in_order(codes, context), Vector<std::uint32_t>(n), {}};
  std::size_t points = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t row = row_of(sorted.rows[i]);
    const std::int32_t* const keys = codes[row];
    const bool is_new = points == 0 || !std::equal(keys, keys + d, sorted.points[points - 1]);
    if (is_new) {
      std::copy_n(keys, d, sorted.points[points++]);
      sorted.heights.push_back(1);
    }
    sorted.heights.back() = std::max(sorted.heights.back(), height_of(problem, row));
    sorted.point_of[i] = static_cast<std::uint32_t>(points - 1);
  }
  sorted.points.truncate(points);
  return sorted;
}

Vector<std::int32_t> levels_of_rows(const SortedPoints& sorted, const Vector<std::int32_t>& of_points,
                                    std::int32_t max_levels) {
  Vector<std::int32_t> levels(sorted.rows.size());
  parallel_for(levels.size(), kSortGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      levels[row_of(sorted.rows[i])] = std::min(of_points[sorted.point_of[i]], max_levels);
    }
  });
  return levels;
}

}  // namespace skyrank::kernels::levels
