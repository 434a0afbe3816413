#include "engine/operators/group/slots/hash_partitions.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/operators/group/slots/group_table.hpp"
#include "engine/runtime/parallel.hpp"
#include "engine/stop.hpp"

namespace skyrank::exec {
namespace {

// A partition's table has at most 2^16 entries of 16 bytes and 2^15 first rows, which fit an L2 cache; more than 2^10
// partitions make the runs of a range too short.
constexpr std::int64_t kPartitionRows = std::int64_t{1} << 15;
constexpr int kMinBits = 4;
constexpr int kMaxBits = 10;
constexpr int kHashBits = 64;

int partition_bits(std::int64_t rows) {
  const auto partitions = static_cast<std::uint64_t>(rows / kPartitionRows);
  return std::clamp(static_cast<int>(std::bit_width(partitions)), kMinBits, kMaxBits);
}

}  // namespace

HashPartitions::HashPartitions(const GroupKeys& keys)
    : rows_(keys.rows()),
      bits_(partition_bits(rows_)),
      ranges_((rows_ + kRangeRows - 1) / kRangeRows),
      offset_(static_cast<std::size_t>(rows_)),
      group_(static_cast<std::size_t>(rows_)),
      bounds_(static_cast<std::size_t>(ranges_ * (partitions() + 1))),
      group_begins_(static_cast<std::size_t>((ranges_ + 1) * partitions())),
      first_(static_cast<std::size_t>(partitions())) {
  RawVector<std::uint64_t> hashes(static_cast<std::size_t>(rows_));
  for_each_range(ranges_, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t range = begin; range < end; ++range) spread_range(keys, range, hashes.data());
  });
  for_each_range(partitions(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      if (keys.are_exact()) {
        number(keys, p, hashes.data(), [](std::int64_t, std::int64_t) { return true; });
      } else {
        number(keys, p, hashes.data(), [&](std::int64_t a, std::int64_t b) { return keys.equal(a, b); });
      }
    }
  });
  for (const Vector<std::int64_t>& first : first_) groups_ += static_cast<std::int64_t>(first.size());
}

void HashPartitions::spread_range(const GroupKeys& keys, std::int64_t range, std::uint64_t* hashes) {
  const std::int64_t first = range * kRangeRows;
  const std::int64_t size = std::min(kRangeRows, rows_ - first);
  const int shift = kHashBits - bits_;
  RawVector<std::uint64_t> unsorted(static_cast<std::size_t>(size));
  std::uint32_t* const bounds = bounds_.data() + range * (partitions() + 1);
  std::uint32_t next[std::size_t{1} << kMaxBits] = {};  // counts, then the next entry of each partition
  for (std::int64_t at = 0; at < size; at += kBlockRows) {
    const std::int64_t block = std::min(kBlockRows, size - at);
    keys.hash(first + at, block, unsorted.data() + at);
    for (std::int64_t i = at; i < at + block; ++i) ++next[unsorted[i] >> shift];
  }
  std::uint32_t sum = 0;
  for (std::int64_t p = 0; p < partitions(); ++p) {
    bounds[p] = sum;
    sum += std::exchange(next[p], sum);
  }
  bounds[partitions()] = sum;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t to = first + next[unsorted[i] >> shift]++;
    hashes[to] = unsorted[i];
    offset_[to] = static_cast<std::uint16_t>(i);
  }
}

template <class Equal>
void HashPartitions::number(const GroupKeys& keys, std::int64_t partition, const std::uint64_t* hashes,
                            const Equal& equal) {
  GroupTable table;
  const std::stop_token& stop = current_stop();
  for (std::int64_t range = 0; range < ranges_; ++range) {
    check(stop);
    group_begin(range, partition) = static_cast<std::uint32_t>(table.size());
    const Run run = run_of(range, partition);
    if (!keys.are_exact()) {
      for (std::int64_t i = run.begin; i < run.end; ++i) keys.prefetch(run.first + offset_[i]);
    }
    for (std::int64_t i = run.begin; i < run.end; ++i) {
      group_[i] = table.find_or_insert(run.first + offset_[i], hashes[i], equal);
    }
  }
  group_begin(ranges_, partition) = static_cast<std::uint32_t>(table.size());
  first_[partition] = table.take_first();
}

}  // namespace skyrank::exec
