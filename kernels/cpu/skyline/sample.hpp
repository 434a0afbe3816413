#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/hash.hpp"
#include "kernels/cpu/parallel.hpp"

// Row indices, samples and their quantiles. Exactness never depends on a sample: it only says where to cut.
namespace skyrank::kernels::skyline {

using RowIndices = Vector<std::uint32_t>;

inline constexpr std::size_t kSampleRows = 1024;  ///< enough for quantiles

/// For algorithms that compare by flat Pareto and keep row indices in 32 bits.
inline Support supports_flat_pareto(const SkylineShape& shape) {
  if (shape.general_order) return Support::no("compares by one flat Pareto order only");
  if (shape.n >> 32 != 0) return Support::no("takes fewer than 2^32 rows");
  return Support::yes();
}

/// One of each of at most `most` equal stretches of [0, n), at a hashed place, so that no order hides rows from the
/// sample. Ascending.
inline RowIndices sample_rows(std::size_t n, std::size_t most) {
  const std::size_t count = std::min(n, most);
  RowIndices rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = n * i / count;
    const std::size_t end = n * (i + 1) / count;
    rows[i] = static_cast<std::uint32_t>(begin + hash_of_place(i) % (end - begin));
  }
  return rows;
}

/// The elements of all parts, which are vectors of one kind, in order. Gives the memory of the parts back.
template <class Values>
Values concatenate(Vector<Values>&& parts) {
  Vector<std::size_t> starts(parts.size() + 1);
  for (std::size_t p = 0; p < parts.size(); ++p) starts[p + 1] = starts[p] + parts[p].size();
  Values all(starts.back());
  parallel_for(parts.size(), 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const Values part = std::move(parts[p]);
      std::ranges::copy(part, all.begin() + static_cast<std::ptrdiff_t>(starts[p]));
    }
  });
  return all;
}

/// Calls body(begin, end, found) for chunks of [0, n); all row indices that they found, in order.
template <class Body>
RowIndices scan_rows(std::size_t n, const Context& context, const Body& body) {
  constexpr std::size_t kChunk = 1 << 14;
  Vector<RowIndices> found((n + kChunk - 1) / kChunk);
  parallel_for(found.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t chunk = first; chunk < last; ++chunk) {
      context.check();
      body(chunk * kChunk, std::min(n, (chunk + 1) * kChunk), found[chunk]);
    }
  });
  return concatenate(std::move(found));
}

/// Returns those of `ids` whose flag is set.
inline Vector<RowId> flagged(std::span<const std::uint32_t> ids, const Vector<std::uint8_t>& flags) {
  constexpr std::size_t kPart = 1 << 10;
  constexpr std::size_t kFewParts = 4;
  Vector<std::size_t> starts((ids.size() + kPart - 1) / kPart + 1);
  const auto each_part = [&](const auto& body) {
    parallel_for(starts.size() - 1, kFewParts, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part)
        body(part, part * kPart, std::min(ids.size(), (part + 1) * kPart));
    });
  };
  each_part([&](std::size_t part, std::size_t begin, std::size_t end) {
    starts[part + 1] = std::accumulate(flags.data() + begin, flags.data() + end, std::size_t{0});
  });
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  Vector<RowId> rows(starts.back());
  each_part([&](std::size_t part, std::size_t begin, std::size_t end) {
    RowId* to = rows.data() + starts[part];
    for (std::size_t i = begin; i < end; ++i) {
      if (flags[i] != 0) *to++ = static_cast<RowId>(ids[i]);
    }
  });
  return rows;
}

/// Cuts every dimension at levels - 1 quantiles. A key's level is the number of them below it: a monotone scale that
/// all dimensions share, on which a lower level means a lower key.
template <class Key>
struct Quantiles {
  std::size_t d = 0;
  std::size_t levels = 0;  ///< a power of two
  Vector<Key> thresholds;  ///< d x levels, ascending in each dimension; the last one is not used

  const Key* of(std::size_t j) const { return thresholds.data() + j * levels; }

  std::size_t level(std::size_t j, Key key) const {
    return static_cast<std::size_t>(std::lower_bound(of(j), of(j) + levels - 1, key) - of(j));
  }
};

/// Quantiles of the given rows, of which there is at least one.
template <class Key>
Quantiles<Key> find_quantiles(const SkylineProblem& problem, std::span<const std::uint32_t> rows, std::size_t levels) {
  const std::size_t d = problem.keys.size();
  Quantiles<Key> quantiles{d, levels, Vector<Key>(d * levels)};
  const std::size_t grain = rows.size() < 256 ? d : 1;
  parallel_for(d, grain, [&](std::size_t begin, std::size_t end) {
    Vector<Key> values(rows.size());
    for (std::size_t j = begin; j < end; ++j) {
      const Key* column = problem.keys[j].template as<Key>();
      std::transform(rows.begin(), rows.end(), values.begin(), [&](std::uint32_t row) { return column[row]; });
      std::sort(values.begin(), values.end());
      for (std::size_t l = 1; l < levels; ++l) {
        quantiles.thresholds[j * levels + l - 1] = values[values.size() * l / levels];
      }
    }
  });
  return quantiles;
}

}  // namespace skyrank::kernels::skyline
