#include "engine/device/device_query_state.hpp"

#include <cstddef>
namespace skyrank::exec {

namespace cuda = kernels::cuda;

DeviceQueryState::Identity DeviceQueryState::identity_of(const ColumnData& column) {
  return {column.values,     column.validity.bits, column.validity.offset, column.length,    column.stride,
          column.bit_offset, column.layout,        column.type.type,       column.index_type};
}

const kernels::StoredColumn& DeviceQueryState::column(const ColumnData& column) {
  if (const auto shared = shares_ ? shared_on_device(column) : pinned_here(column)) {
    if (shared_.insert(shared).second && shared->is_there()) ++found_;
    return shared->values(transfer_ms_);
  }
  auto& resident = columns_[identity_of(column)];
  if (resident == nullptr) resident = std::make_shared<ResidentColumn>(column);
  return resident->values(transfer_ms_);
}

cuda::expression::DeviceRows DeviceQueryState::rows(const RowSet& rows) {
  Stopwatch watch;
  const bool there = rows.has_device_ids();
  const cuda::expression::DeviceRows there_now{static_cast<std::size_t>(rows.size()), rows.device_ids()};
  if (!there) transfer_ms_ += watch.lap();
  return there_now;
}

}  // namespace skyrank::exec
