#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/cpu/topk/scan.hpp"

// A row's rank is its keys with its row id below them, as one unsigned integer where that fits in 64 or 128 bits. Ranks
// of rows are distinct and smaller is better, so the k best rows are the k smallest ranks: ties need no code of their
// own, only the row id's complement where the highest row ids win.
namespace skyrank::kernels::topk {

__extension__ using uint128 = unsigned __int128;

/// The row id part of ranks.
class RankedRows {
 public:
  explicit RankedRows(const TopKProblem& problem)
      : last_(problem.ties == TieRule::last ? problem.n - 1 : 0),
        reversed_(problem.ties == TieRule::last),
        bits_(static_cast<int>(std::bit_width(problem.n - 1))) {}

  int bits() const { return bits_; }
  bool reversed() const { return reversed_; }
  std::uint64_t encode(std::size_t row) const { return reversed_ ? last_ - row : row; }
  RowId decode(std::uint64_t encoded) const { return static_cast<RowId>(encode(encoded)); }
  /// Returns true if all rows of [begin, end) come after `row` where keys are equal.
  bool after(std::size_t begin, std::size_t end, RowId row) const {
    return reversed_ ? end <= static_cast<std::size_t>(row) : begin > static_cast<std::size_t>(row);
  }

 private:
  std::uint64_t last_;
  bool reversed_;
  int bits_;
};

/// Ranks that are integers.
template <class Bits>
class IntegerRanks {
 public:
  using Rank = Bits;
  using Order = std::less<>;  ///< compares for sorts and selections, by one type for all integers of a size

  explicit IntegerRanks(const TopKProblem& problem) : rows_(problem) {}

  Order order() const { return {}; }
  bool less(Rank a, Rank b) const { return a < b; }
  bool same_key(Rank a, Rank b) const { return key_of(a) == key_of(b); }
  RowId row_of(Rank rank) const {
    return rows_.decode(static_cast<std::uint64_t>(rank & ((Rank{1} << rows_.bits()) - 1)));
  }
  const RankedRows& rows() const { return rows_; }

 protected:
  Rank key_of(Rank rank) const { return rank >> rows_.bits(); }
  Rank rank_of(Rank key, std::size_t row) const { return key << rows_.bits() | rows_.encode(row); }

 private:
  RankedRows rows_;
};

/// Ranks of keys that come from a source.
template <class Bits>
class ReadRanks : public IntegerRanks<Bits> {
 public:
  using IntegerRanks<Bits>::IntegerRanks;
  using IntegerRanks<Bits>::rank_of;

  std::uint64_t first_key(Bits rank) const { return static_cast<std::uint64_t>(this->key_of(rank)); }
};

/// Ranks of one key column.
template <class Key, class Bits>
class SingleRanks : public IntegerRanks<Bits> {
 public:
  using Rank = Bits;

  explicit SingleRanks(const TopKProblem& problem)
      : IntegerRanks<Bits>(problem), keys_(problem.keys.front().as<Key>()) {}

  using IntegerRanks<Bits>::rank_of;

  /// Ranks of the rows [begin, end).
  void fill(std::size_t begin, std::size_t end, Rank* out) const {
    for (std::size_t row = begin; row < end; ++row) *out++ = this->rank_of(keys_[row], row);
  }

  Rank rank_at(std::size_t row) const { return this->rank_of(keys_[row], row); }

  /// The key that the first column has at a rank's row.
  std::uint64_t first_key(Rank rank) const { return static_cast<std::uint64_t>(this->key_of(rank)); }

  /// Calls bound = take(rank) for each row of [begin, end) whose rank is below `bound`; gives the last bound.
  template <class Take>
  Rank take_below(std::size_t begin, std::size_t end, Rank bound, const Take& take) const {
    Key worst = static_cast<Key>(this->key_of(bound));
    for (std::size_t row = begin; row < end; ++row) {
      if (keys_[row] > worst) continue;
      const Rank rank = this->rank_of(keys_[row], row);
      if (rank >= bound) continue;
      bound = take(rank);
      worst = static_cast<Key>(this->key_of(bound));
    }
    return bound;
  }

  /// Appends the rows of [begin, end) that have the same keys as the one of `rank`.
  void append_equal(std::size_t begin, std::size_t end, Rank rank, Vector<RowId>& rows) const {
    std::array<std::uint32_t, kScanRows> offsets;
    for (std::size_t first = begin; first < end; first += kScanRows) {
      const std::size_t last = std::min(end, first + kScanRows);
      const std::size_t found =
          find_equal({keys_, static_cast<KeyWidth>(sizeof(Key))}, first, last, first_key(rank), offsets.data());
      for (std::size_t i = 0; i < found; ++i) rows.push_back(static_cast<RowId>(first + offsets[i]));
    }
  }

 private:
  const Key* keys_;
};

/// Calls body(keys) with the column's keys in their own type.
template <class Body>
void with_keys(const KeyColumn& column, const Body& body) {
  switch (column.width) {
    case KeyWidth::bytes1: body(column.as<std::uint8_t>()); break;
    case KeyWidth::bytes2: body(column.as<std::uint16_t>()); break;
    case KeyWidth::bytes4: body(column.as<std::uint32_t>()); break;
    case KeyWidth::bytes8: body(column.as<std::uint64_t>()); break;
  }
}

inline std::uint64_t key_at(const KeyColumn& column, std::size_t row) {
  std::uint64_t key = 0;
  with_keys(column, [&](const auto* keys) { key = keys[row]; });
  return key;
}

/// Ranks of several key columns, side by side.
template <class Bits>
class PackedRanks : public IntegerRanks<Bits> {
 public:
  using Rank = Bits;

  explicit PackedRanks(const TopKProblem& problem) : IntegerRanks<Bits>(problem), columns_(problem.keys) {}

  void fill(std::size_t begin, std::size_t end, Rank* out) const {
    fill_keys(begin, end, out);
    for (std::size_t row = begin; row < end; ++row) out[row - begin] = this->rank_of(out[row - begin], row);
  }

  Rank rank_at(std::size_t row) const {
    Rank rank;
    fill(row, row + 1, &rank);
    return rank;
  }

  std::uint64_t first_key(Rank rank) const {
    return key_at(columns_.front(), static_cast<std::size_t>(this->row_of(rank)));
  }

  template <class Take>
  Rank take_below(std::size_t begin, std::size_t end, Rank bound, const Take& take) const {
    for_each_block(begin, end, [&](std::size_t first, std::size_t last, const Rank* keys) {
      for (std::size_t row = first; row < last; ++row) {
        const Rank rank = this->rank_of(keys[row - first], row);
        if (rank < bound) bound = take(rank);
      }
    });
    return bound;
  }

  void append_equal(std::size_t begin, std::size_t end, Rank rank, Vector<RowId>& rows) const {
    for_each_block(begin, end, [&](std::size_t first, std::size_t last, const Rank* keys) {
      for (std::size_t row = first; row < last; ++row) {
        if (keys[row - first] == this->key_of(rank)) rows.push_back(static_cast<RowId>(row));
      }
    });
  }

 private:
  void fill_keys(std::size_t begin, std::size_t end, Rank* out) const {
    std::fill(out, out + (end - begin), Rank{0});
    for (const KeyColumn& column : columns_) {
      with_keys(column, [&]<class Key>(const Key* keys) {
        // A column never fills all of Bits when it is not the first one: the shift is below the width of Rank then.
        constexpr int kHalf = 4 * sizeof(Key);
        for (std::size_t row = begin; row < end; ++row) {
          Rank& rank = out[row - begin];
          rank = (rank << kHalf << kHalf) | keys[row];
        }
      });
    }
  }

  template <class Body>
  void for_each_block(std::size_t begin, std::size_t end, const Body& body) const {
    constexpr std::size_t kBlock = 512;
    Rank keys[kBlock];
    for (std::size_t first = begin; first < end; first += kBlock) {
      const std::size_t last = std::min(end, first + kBlock);
      fill_keys(first, last, keys);
      body(first, last, keys);
    }
  }

  std::span<const KeyColumn> columns_;
};

/// Ranks of key columns too wide for an integer: the rank is the row itself, and comparing looks at its keys.
class WideRanks {
 public:
  using Rank = std::size_t;
  struct Order {
    const WideRanks* ranks;
    bool operator()(Rank a, Rank b) const { return ranks->less(a, b); }
  };

  explicit WideRanks(const TopKProblem& problem) : columns_(problem.keys), rows_(problem) {}

  Order order() const { return {this}; }
  bool less(Rank a, Rank b) const {
    for (const KeyColumn& column : columns_) {
      bool less = false;
      bool equal = false;
      with_keys(column, [&](const auto* keys) {
        less = keys[a] < keys[b];
        equal = keys[a] == keys[b];
      });
      if (!equal) return less;
    }
    return rows_.encode(a) < rows_.encode(b);
  }

  bool same_key(Rank a, Rank b) const {
    for (const KeyColumn& column : columns_) {
      bool equal = false;
      with_keys(column, [&](const auto* keys) { equal = keys[a] == keys[b]; });
      if (!equal) return false;
    }
    return true;
  }

  RowId row_of(Rank rank) const { return static_cast<RowId>(rank); }
  const RankedRows& rows() const { return rows_; }
  Rank rank_at(std::size_t row) const { return row; }
  std::uint64_t first_key(Rank rank) const { return key_at(columns_.front(), rank); }

  void fill(std::size_t begin, std::size_t end, Rank* out) const {
    for (std::size_t row = begin; row < end; ++row) *out++ = row;
  }

  template <class Take>
  Rank take_below(std::size_t begin, std::size_t end, Rank bound, const Take& take) const {
    for (std::size_t row = begin; row < end; ++row) {
      if (less(row, bound)) bound = take(row);
    }
    return bound;
  }

  void append_equal(std::size_t begin, std::size_t end, Rank rank, Vector<RowId>& rows) const {
    for (std::size_t row = begin; row < end; ++row) {
      if (same_key(row, rank)) rows.push_back(static_cast<RowId>(row));
    }
  }

 private:
  std::span<const KeyColumn> columns_;
  RankedRows rows_;
};

/// Ranks of key columns as a source of which they are the reader.
template <class Ranks>
class RanksInMemory {
 public:
  explicit RanksInMemory(const Ranks& ranks) : ranks_(ranks) {}
  const Ranks& reader() const { return ranks_; }

 private:
  const Ranks& ranks_;
};

inline std::size_t key_bytes(const TopKProblem& problem) {
  std::size_t bytes = problem.source != nullptr ? static_cast<std::size_t>(problem.source->width()) : 0;
  for (const KeyColumn& column : problem.keys) bytes += static_cast<std::size_t>(column.width);
  return bytes;
}

/// Calls body(ranks) with the narrowest kind of ranks that holds the problem's. At least one row.
template <class Body>
TopKSolution with_ranks(const TopKProblem& problem, const Body& body) {
  const std::size_t bits = 8 * key_bytes(problem) + static_cast<std::size_t>(std::bit_width(problem.n - 1));
  if (bits > 128) return body(WideRanks(problem));
  const bool single = problem.keys.size() == 1;
  if (bits > 64) {
    if (single && problem.keys.front().width == KeyWidth::bytes8) {
      return body(SingleRanks<std::uint64_t, uint128>(problem));
    }
    return body(PackedRanks<uint128>(problem));
  }
  if (single) {
    switch (problem.keys.front().width) {
      case KeyWidth::bytes1: return body(SingleRanks<std::uint8_t, std::uint64_t>(problem));
      case KeyWidth::bytes2: return body(SingleRanks<std::uint16_t, std::uint64_t>(problem));
      case KeyWidth::bytes4: return body(SingleRanks<std::uint32_t, std::uint64_t>(problem));
      case KeyWidth::bytes8: break;
    }
  }
  return body(PackedRanks<std::uint64_t>(problem));
}

}  // namespace skyrank::kernels::topk
