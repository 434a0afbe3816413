#include "engine/keys/combine_keys.hpp"

#include <oneapi/tbb/parallel_reduce.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/keys/device_keys.hpp"
#include "engine/keys/key_memory.hpp"
#include "engine/keys/ranks.hpp"
#include "engine/runtime/parallel.hpp"

namespace skyrank::exec {

using kernels::KeyWidth;

namespace {

std::uint64_t max_key(const Keys& keys, std::int64_t n) {
  return with_width(keys.column.width, [&]<class Key>(Key) {
    const Key* data = keys.column.as<Key>();
    return tbb::parallel_reduce(
        tbb::blocked_range<std::int64_t>(0, n, kChunkRows), std::uint64_t{0},
        [&](const tbb::blocked_range<std::int64_t>& range, std::uint64_t highest) {
          Key best = 0;
          for (std::int64_t i = range.begin(); i < range.end(); ++i) best = std::max(best, data[i]);
          return std::max(highest, std::uint64_t{best});
        },
        [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  });
}

/// A key column and the bits that its keys need.
struct Part {
  const Keys* keys;
  int bits;
};

/// Keys of several columns side by side, the first in the highest bits; at most 64 bits in all.
template <class Packed>
void pack(const std::vector<Part>& parts, std::int64_t n, Packed* out) {
  for_chunks(n, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    std::fill(out + begin, out + end, Packed{0});
    for (const Part& part : parts) {
      with_width(part.keys->column.width, [&]<class Key>(Key) {
        const Key* keys = part.keys->column.as<Key>();
        // In two steps, since a shift by all 64 bits is none.
        const int half = part.bits / 2;
        const int rest = part.bits - half;
        for (std::int64_t i = begin; i < end; ++i) {
          const std::uint64_t shifted = std::uint64_t{out[i]} << half << rest;
          out[i] = static_cast<Packed>(shifted | keys[i]);
        }
      });
    }
  });
}

/// Columns in groups, in order, of at most 64 bits each.
std::vector<std::vector<Part>> group_by_word(const std::vector<Part>& parts) {
  std::vector<std::vector<Part>> words;
  int free_bits = 0;
  for (const Part& part : parts) {
    if (words.empty() || part.bits > free_bits) {
      words.emplace_back();
      free_bits = 64;
    }
    words.back().push_back(part);
    free_bits -= part.bits;
  }
  return words;
}

}  // namespace

Keys widen(const Keys& keys, std::int64_t n, KeyWidth width) {
  if (keys.column.width == width) return keys;
  if (keys.column.width > width) {
    throw std::logic_error("keys of " + std::to_string(kernels::bits(keys.column.width)) + " bits do not fit in " +
                           std::to_string(kernels::bits(width)));
  }
  if (keys.memory == kernels::Memory::device) return widen_on_device(keys, n, width);
  return with_width(width, [&]<class Wide>(Wide) {
    KeyMemory<Wide> out(n);
    pack<Wide>({Part{&keys, 0}}, n, out.data());
    return std::move(out).keys();
  });
}

Keys combine_prior(const std::vector<Keys>& columns, std::int64_t n) {
  if (columns.size() == 1) return columns.front();
  if (columns.front().memory == kernels::Memory::device) return combine_prior_on_device(columns, n);
  std::vector<Part> parts;
  int total = 0;
  for (const Keys& column : columns) {
    parts.push_back({&column, static_cast<int>(std::bit_width(max_key(column, n)))});
    total += parts.back().bits;
  }
  if (total <= 64) {
    const std::uint64_t highest = total == 0 ? 0 : ~std::uint64_t{0} >> (64 - total);
    return with_width(width_for(highest), [&]<class Packed>(Packed) {
      KeyMemory<Packed> out(n);
      pack(parts, n, out.data());
      return std::move(out).keys();
    });
  }
  std::vector<KeyMemory<std::uint64_t>> words;
  for (const std::vector<Part>& group : group_by_word(parts)) {
    words.emplace_back(n);
    pack(group, n, words.back().data());
  }
  return ranks_of_rows(n, [&](RowId a, RowId b) {
    for (KeyMemory<std::uint64_t>& word : words) {
      if (word[a] != word[b]) return word[a] < word[b];
    }
    return false;
  });
}

}  // namespace skyrank::exec
