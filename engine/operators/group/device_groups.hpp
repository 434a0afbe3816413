#pragma once

#include <cstdint>
#include <optional>

#include "engine/device/device_query_state.hpp"
#include "engine/operators/group/group.hpp"
#include "engine/query/bound.hpp"

// Groups and aggregates rows on a GPU, with the answer of the host to the bit.
namespace skyrank::exec {

/// Returns true if the GPU can aggregate as the host does, bit for bit: counts of a column or of rows, sums and
/// averages of integers, and the least and greatest of integers, dates, timestamps and decimals of up to 18 digits.
bool can_aggregate_on_device(const query::BoundAggregate& aggregate, const Table& table);

/// The groups of which a ranking wants the best alone.
struct BestGroups {
  int aggregate = 0;  ///< the first term ranks by its values
  bool high = false;
  bool nulls_first = false;
  std::int64_t k = 0;
};

/// Returns what the GPU needs to leave groups out of the table that comes to the host: the first ranking term is a
/// count or sum, a least or greatest value, and only a limit comes after the ranking.
std::optional<BestGroups> best_groups_of(const query::BoundQuery& query);

/// Groups rows as `group` does, on the GPU, where group columns have codes and all aggregates are possible. Groups that
/// lose against `best.k` others by the first ranking term may be left out. Returns nothing where `codes_on_device`
/// does. Throws as `group`, and kernels::cuda::OutOfMemory.
std::optional<Grouped> group_on_device(DeviceQueryState& device_state, const query::BoundGroup& group,
                                       const Table& table, const RowSet& rows, const std::optional<BestGroups>& best);

}  // namespace skyrank::exec
