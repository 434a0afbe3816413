#include "kernels/cuda/device/columns.hpp"

namespace skyrank::kernels::cuda {

ResidentColumns load_columns(std::span<const KeyColumn> columns, std::size_t n, Memory memory, DeviceContext& device) {
  ResidentColumns resident{.columns = {columns.begin(), columns.end()}, .owned = {}};
  if (memory == Memory::device) return resident;
  for (KeyColumn& column : resident.columns) {
    const std::size_t bytes = n * static_cast<std::size_t>(column.width);
    auto& copy = resident.owned.emplace_back(device.allocate<std::byte>(bytes));
    // Memory comes and goes in the order of the compute stream: the copy waits for it, and it for the copy.
    order_streams(device.stream(), device.transfer().stream());
    device.transfer().upload(copy.data(), column.data, bytes);
    order_streams(device.transfer().stream(), device.stream());
    column.data = copy.data();
  }
  return resident;
}

}  // namespace skyrank::kernels::cuda
