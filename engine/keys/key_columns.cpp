#include "engine/keys/key_columns.hpp"

#include <oneapi/tbb/parallel_reduce.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
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

/// The keys at some positions, on the host.
std::vector<Keys> brought(const std::vector<Keys>& columns, std::span<const std::int64_t> positions) {
  std::vector<Keys> near;
  for (const Keys& keys : columns) {
    near.push_back(to_host(take(keys, positions), static_cast<std::int64_t>(positions.size())));
  }
  return near;
}

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

Keys take(const Keys& keys, std::span<const std::int64_t> positions) {
  if (keys.memory == kernels::Memory::device) return take_on_device(keys, positions);
  return with_width(keys.column.width, [&]<class Key>(Key) {
    auto taken = std::make_shared<Vector<Key>>(positions.size());
    const Key* from = keys.column.as<Key>();
    for_each_range(static_cast<std::int64_t>(positions.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) (*taken)[i] = from[positions[i]];
    });
    return Keys{{taken->data(), keys.column.width}, taken};
  });
}

Keys slice(const Keys& keys, std::int64_t begin) {
  const auto* data = static_cast<const std::byte*>(keys.column.data);
  return {{data + begin * static_cast<std::int64_t>(keys.column.width), keys.column.width}, nullptr, keys.memory};
}

std::uint64_t key_at(const Keys& keys, std::int64_t row) {
  return with_width(keys.column.width,
                    [&]<class Key>(Key) { return static_cast<std::uint64_t>(keys.column.as<Key>()[row]); });
}

Runs runs_of_equal(const std::vector<Keys>& columns, Vector<std::int64_t> positions) {
  if (!columns.empty() && columns.front().memory == kernels::Memory::device) {
    Vector<std::int64_t> places(positions.size());
    std::iota(places.begin(), places.end(), 0);
    Runs runs = runs_of_equal(brought(columns, positions), std::move(places));
    for (std::int64_t& position : runs.positions) position = positions[position];
    return runs;
  }
  const auto equal = [&](std::int64_t a, std::int64_t b) {
    return std::all_of(columns.begin(), columns.end(),
                       [&](const Keys& keys) { return key_at(keys, a) == key_at(keys, b); });
  };
  const auto before = [&](std::int64_t a, std::int64_t b) {
    for (const Keys& keys : columns) {
      const std::uint64_t x = key_at(keys, a);
      const std::uint64_t y = key_at(keys, b);
      if (x != y) return x < y;
    }
    return a < b;
  };
  const bool one_run = std::all_of(positions.begin(), positions.end(),
                                   [&](std::int64_t position) { return equal(positions.front(), position); });
  if (!one_run) std::sort(positions.begin(), positions.end(), before);
  Runs runs{std::move(positions), {}};
  for (std::size_t i = 0; i < runs.positions.size(); ++i) {
    if (i == 0 || !equal(runs.positions[i - 1], runs.positions[i])) runs.bounds.push_back(static_cast<std::int64_t>(i));
  }
  runs.bounds.push_back(static_cast<std::int64_t>(runs.positions.size()));
  return runs;
}

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
