#pragma once

#include <cstdint>
#include <optional>

#include "engine/operators/group/slots/group_keys.hpp"
#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {

/// The group of each position of a row set.
struct ListedGroups {
  RawVector<std::uint32_t> of;  ///< per position: its group, in [0, count)
  std::int64_t count = 0;
};

/// Numbers few groups without bringing their rows together: each range of rows has a hash table of its own, which fits
/// an L1 cache, and the tables' groups are merged. Returns nothing, soon, if a range has more than 2,048 groups or all
/// have more than 32,768.
std::optional<ListedGroups> number_few_groups(const GroupKeys& keys);

}  // namespace skyrank::exec
