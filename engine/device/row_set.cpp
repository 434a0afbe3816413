#include "engine/device/row_set.hpp"

#include "engine/runtime/parallel.hpp"
#include "kernels/cuda/expression/columns.hpp"

namespace skyrank::exec {

using kernels::cuda::DeviceArray;

const Vector<RowId>& RowSet::on_host() const {
  if (!lists_->host) {
    Vector<RowId> ids(static_cast<std::size_t>(n_));
    kernels::cuda::read_array(ids.data(), lists_->device->data(), ids.size() * sizeof(RowId));
    lists_->host = std::move(ids);
  }
  return *lists_->host;
}

const RowId* RowSet::device_ids() const {
  if (lists_ == nullptr) return nullptr;
  if (!lists_->device) lists_->device.emplace(lists_->host->data(), lists_->host->size() * sizeof(RowId));
  return static_cast<const RowId*>(lists_->device->data());
}

Vector<RowId> RowSet::at(const Vector<std::int64_t>& positions) const {
  if (lists_ == nullptr) return positions;
  Vector<RowId> ids(positions.size());
  if (!lists_->host && static_cast<std::int64_t>(positions.size()) < n_ / 2) {
    const DeviceArray places(positions.data(), positions.size() * sizeof(std::int64_t));
    const DeviceArray taken = kernels::cuda::expression::take_keys(
        {device_ids(), kernels::KeyWidth::bytes8}, static_cast<const std::int64_t*>(places.data()), positions.size());
    kernels::cuda::read_array(ids.data(), taken.data(), ids.size() * sizeof(RowId));
    return ids;
  }
  const Vector<RowId>& all = on_host();
  for_each_range(static_cast<std::int64_t>(positions.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ids[i] = all[static_cast<std::size_t>(positions[i])];
  });
  return ids;
}

}  // namespace skyrank::exec
