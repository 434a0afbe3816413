#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "engine/operators/group/slots/group_keys.hpp"
#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {

/// Prefetches nothing: for visits that read no values.
struct NoPrefetch {
  void operator()(std::int64_t) const {}
};

/// Groups of a row set, spread over partitions by the upper bits of their hashes, and numbered within each by a hash
/// table that fits the cache of one thread (Leis et al., "Morsel-driven parallelism", SIGMOD 2014, section 4.4).
///
/// One pass sorts the rows of each range of 65,536 by partition, so that writes stay in the cache and no thread waits
/// for another; a partition is then one run of every range. It takes 6 bytes a row, 14 while it is made.
class HashPartitions {
 public:
  explicit HashPartitions(const GroupKeys& keys);

  std::int64_t rows() const { return rows_; }
  int bits() const { return bits_; }  ///< there are 2^bits partitions
  std::int64_t groups() const { return groups_; }
  std::int64_t groups(std::int64_t partition) const { return static_cast<std::int64_t>(first_[partition].size()); }

  /// Calls visit(group, position) for the rows of a partition, in ascending order, and prefetch(position) some rows
  /// before: rows of a partition lie far apart. Groups are numbered from 0 in each partition, in order of their first
  /// rows.
  template <class Visit, class Prefetch = NoPrefetch>
  void visit(std::int64_t partition, const Visit& visit, const Prefetch& prefetch = {}) const {
    for (std::int64_t range = 0; range < ranges_; ++range) {
      const Run run = run_of(range, partition);
      if constexpr (!std::is_same_v<Prefetch, NoPrefetch>) {
        for (std::int64_t i = run.begin; i < run.end; ++i) prefetch(run.first + offset_[i]);
      }
      for (std::int64_t i = run.begin; i < run.end; ++i) visit(group_[i], run.first + offset_[i]);
    }
  }

  /// Returns the number of groups that begin in a range of the rows.
  std::int64_t groups_of_range(std::int64_t range) const {
    std::int64_t count = 0;
    for (std::int64_t p = 0; p < partitions(); ++p) count += group_begin(range + 1, p) - group_begin(range, p);
    return count;
  }

  /// Calls visit(partition, group, first position) for the groups that begin in a range of the rows, in no order.
  template <class Visit>
  void visit_groups_of_range(std::int64_t range, const Visit& visit) const {
    for (std::int64_t p = 0; p < partitions(); ++p) {
      const std::int64_t end = group_begin(range + 1, p);
      for (std::int64_t g = group_begin(range, p); g < end; ++g) visit(p, g, first_[p][g]);
    }
  }

  std::int64_t partitions() const { return std::int64_t{1} << bits_; }
  std::int64_t ranges() const { return ranges_; }
  static constexpr std::int64_t kRangeRows = std::int64_t{1} << 16;  ///< offsets into a range have 16 bits

 private:
  /// The rows of a partition in a range: they are entries [begin, end), and `first` is the first row of the range.
  struct Run {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t first;
  };

  Run run_of(std::int64_t range, std::int64_t partition) const {
    const std::int64_t first = range * kRangeRows;
    const std::uint32_t* const bounds = bounds_.data() + range * (partitions() + 1) + partition;
    return {first + bounds[0], first + bounds[1], first};
  }
  std::uint32_t& group_begin(std::int64_t range, std::int64_t partition) {
    return group_begins_[partition * (ranges_ + 1) + range];
  }
  std::uint32_t group_begin(std::int64_t range, std::int64_t partition) const {
    return group_begins_[partition * (ranges_ + 1) + range];
  }

  void spread_range(const GroupKeys& keys, std::int64_t range, std::uint64_t* hashes);
  template <class Equal>
  void number(const GroupKeys& keys, std::int64_t partition, const std::uint64_t* hashes, const Equal& equal);

  std::int64_t rows_;
  int bits_;
  std::int64_t ranges_;
  std::int64_t groups_ = 0;
  RawVector<std::uint16_t> offset_;          // per entry: its row, from the first of its range
  RawVector<std::uint32_t> group_;           // per entry: its group
  RawVector<std::uint32_t> bounds_;          // per range and partition: its first entry in the range
  RawVector<std::uint32_t> group_begins_;    // per partition and range: the first group that begins there
  std::vector<Vector<std::int64_t>> first_;  // per partition and group: the first position; ascending
};

}  // namespace skyrank::exec
