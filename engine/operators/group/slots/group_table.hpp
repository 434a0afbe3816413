#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {

/// Numbers groups of rows by their hashes: open addressing with linear probing, half full at most. Groups are numbered
/// in order of insertion. For one thread.
class GroupTable {
 public:
  /// Returns the group of a position. equal(a, b) compares the values of positions whose hashes are equal.
  template <class Equal>
  std::uint32_t find_or_insert(std::int64_t position, std::uint64_t hash, const Equal& equal) {
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Entry& entry = entries_[i];
      if (entry.number == 0) break;
      if (entry.hash == hash && equal(first_[entry.number - 1], position)) return entry.number - 1;
    }
    return insert(position, hash);
  }

  /// Begins to load what find_or_insert() looks at first for a hash.
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&entries_[hash & mask_]); }

  /// Returns a new group that no hash finds.
  std::uint32_t append(std::int64_t position) {
    first_.push_back(position);
    return static_cast<std::uint32_t>(first_.size() - 1);
  }

  std::int64_t size() const { return static_cast<std::int64_t>(first_.size()); }
  const Vector<std::int64_t>& first() const { return first_; }  ///< per group: its first position
  Vector<std::int64_t> take_first() { return std::move(first_); }

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t number = 0;  // of the group, from 1; 0: there is none
  };

  std::uint32_t insert(std::int64_t position, std::uint64_t hash) {
    if (2 * (first_.size() + 1) > entries_.size()) grow();
    first_.push_back(position);
    const auto number = static_cast<std::uint32_t>(first_.size());
    entries_[free_from(entries_, hash)] = {hash, number};
    return number - 1;
  }

  static std::size_t free_from(const Vector<Entry>& entries, std::uint64_t hash) {
    std::size_t i = hash & (entries.size() - 1);
    while (entries[i].number != 0) i = (i + 1) & (entries.size() - 1);
    return i;
  }

  void grow() {
    Vector<Entry> bigger(entries_.size() * 2);
    for (const Entry& entry : entries_) {
      if (entry.number != 0) bigger[free_from(bigger, entry.hash)] = entry;
    }
    entries_ = std::move(bigger);
    mask_ = entries_.size() - 1;
  }

  static constexpr std::size_t kInitialEntries = 256;

  Vector<Entry> entries_ = Vector<Entry>(kInitialEntries);
  std::size_t mask_ = kInitialEntries - 1;
  Vector<std::int64_t> first_;
};

}  // namespace skyrank::exec
