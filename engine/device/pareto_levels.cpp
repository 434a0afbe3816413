#include "engine/device/pareto_levels.hpp"

#include "engine/runtime/parallel.hpp"
#include "kernels/cuda/expression/columns.hpp"

namespace skyrank::exec {
namespace {

using kernels::cuda::DeviceArray;

Vector<std::int32_t> taken(const Vector<std::int32_t>& levels, const Vector<std::int64_t>& positions) {
  Vector<std::int32_t> at(positions.size());
  for_each_range(static_cast<std::int64_t>(positions.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) at[i] = levels[static_cast<std::size_t>(positions[i])];
  });
  return at;
}

Vector<std::int32_t> brought(const void* levels, std::size_t n) {
  Vector<std::int32_t> near(n);
  kernels::cuda::read_array(near.data(), levels, n * sizeof(std::int32_t));
  return near;
}

}  // namespace

Vector<std::int32_t> ParetoLevels::at(const Vector<std::int64_t>& positions) const {
  switch (kind_) {
    case Kind::first: return Vector<std::int32_t>(positions.size(), 1);
    case Kind::host: return taken(host_, positions);
    case Kind::none:
    case Kind::device: break;
  }
  if (static_cast<std::int64_t>(positions.size()) >= n_ / 2) {
    return taken(brought(device_.data(), static_cast<std::size_t>(n_)), positions);
  }
  const DeviceArray places(positions.data(), positions.size() * sizeof(std::int64_t));
  const DeviceArray levels = kernels::cuda::expression::take_keys(
      {device_.data(), kernels::KeyWidth::bytes4}, static_cast<const std::int64_t*>(places.data()), positions.size());
  return brought(levels.data(), positions.size());
}

Vector<std::int32_t> ParetoLevels::all(std::int64_t n) const {
  switch (kind_) {
    case Kind::first: return Vector<std::int32_t>(static_cast<std::size_t>(n), 1);
    case Kind::host: return host_;
    case Kind::none:
    case Kind::device: break;
  }
  return brought(device_.data(), static_cast<std::size_t>(n));
}

}  // namespace skyrank::exec
