#pragma once

#include <cstdint>
#include <optional>

#include "engine/device/device_query_state.hpp"
#include "engine/query/bound.hpp"
#include "kernels/cuda/groups/contenders.hpp"

// Columns whose values become keys while a kernel reads them, so that no array of keys is written and read again.
namespace skyrank::exec {

/// Keys of a ranking term over all rows; nothing where the values do not lie as such a kernel reads them: expressions,
/// strings, truths, and columns that may have NULLs.
std::optional<kernels::cuda::groups::ReadKeys> readable_keys(DeviceQueryState& device_state,
                                                             const query::BoundRankTerm& term, const Table& table);

/// Codes of a column of integers, from 0 on.
struct ReadableCodes {
  kernels::cuda::groups::ReadKeys keys;
  std::uint64_t greatest = 0;
};

/// The same of a column of integers or times, which is read once for the range of its values.
std::optional<ReadableCodes> readable_codes(DeviceQueryState& device_state, const Column& column);

}  // namespace skyrank::exec
