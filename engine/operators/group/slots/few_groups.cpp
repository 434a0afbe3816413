#include "engine/operators/group/slots/few_groups.hpp"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "engine/operators/group/slots/group_table.hpp"
#include "engine/runtime/parallel.hpp"
#include "engine/stop.hpp"

namespace skyrank::exec {
namespace {

constexpr std::int64_t kRangeRows = std::int64_t{1} << 16;
constexpr std::int64_t kMaxOfRange = std::int64_t{1} << 11;
constexpr std::int64_t kMaxGroups = std::int64_t{1} << 15;

/// Numbers the groups of the positions [begin, end) and returns their first positions; none once there are too many.
template <class Equal>
Vector<std::int64_t> number_range(const GroupKeys& keys, std::int64_t begin, std::int64_t end, const Equal& equal,
                                  std::atomic<bool>& too_many, std::uint32_t* of) {
  GroupTable table;
  std::uint64_t hashes[kBlockRows];
  for (std::int64_t at = begin; at < end; at += kBlockRows) {
    if (too_many) return {};
    const std::int64_t size = std::min(kBlockRows, end - at);
    keys.hash(at, size, hashes);
    for (std::int64_t i = 0; i < size; ++i) of[at + i] = table.find_or_insert(at + i, hashes[i], equal);
    if (table.size() > kMaxOfRange) too_many = true;
  }
  return table.take_first();
}

/// Gives the groups of all ranges one numbering. Returns their number; `ranges` lists the new numbers afterwards.
template <class Equal>
std::int64_t merge(const GroupKeys& keys, std::vector<Vector<std::int64_t>>& ranges, const Equal& equal) {
  GroupTable table;
  for (Vector<std::int64_t>& range : ranges) {
    check(current_stop());
    for (std::int64_t& group : range) {
      std::uint64_t hash = 0;
      keys.hash(group, 1, &hash);
      group = table.find_or_insert(group, hash, equal);
    }
    if (table.size() > kMaxGroups) break;
  }
  return table.size();
}

template <class Equal>
std::optional<ListedGroups> number_few_groups(const GroupKeys& keys, const Equal& equal) {
  const std::int64_t n = keys.rows();
  ListedGroups groups{RawVector<std::uint32_t>(static_cast<std::size_t>(n))};
  std::vector<Vector<std::int64_t>> ranges(static_cast<std::size_t>((n + kRangeRows - 1) / kRangeRows));
  std::atomic<bool> too_many = false;
  for_each_range(n, kRangeRows, [&](std::int64_t begin, std::int64_t end) {
    ranges[begin / kRangeRows] = number_range(keys, begin, end, equal, too_many, groups.of.data());
  });
  if (too_many) return std::nullopt;
  groups.count = merge(keys, ranges, equal);
  if (groups.count > kMaxGroups) return std::nullopt;
  for_each_range(n, kRangeRows, [&](std::int64_t begin, std::int64_t end) {
    const Vector<std::int64_t>& numbers = ranges[begin / kRangeRows];
    for (std::int64_t i = begin; i < end; ++i) {
      std::uint32_t& group = groups.of[i];
      group = static_cast<std::uint32_t>(numbers[group]);
    }
  });
  return groups;
}

}  // namespace

std::optional<ListedGroups> number_few_groups(const GroupKeys& keys) {
  if (keys.are_exact()) return number_few_groups(keys, [](std::int64_t, std::int64_t) { return true; });
  return number_few_groups(keys, [&](std::int64_t a, std::int64_t b) { return keys.equal(a, b); });
}

}  // namespace skyrank::exec
