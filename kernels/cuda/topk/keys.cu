#include "kernels/cuda/topk/keys.hpp"

#include <utility>
#include <vector>

#include "kernels/cuda/expression/columns.hpp"

namespace skyrank::kernels::cuda::topk {

int total_bits(std::span<const KeyWidth> widths) {
  int total = 0;
  for (const KeyWidth width : widths) total += bits(width);
  return total;
}

int total_bits(std::span<const KeyColumn> columns) {
  int total = 0;
  for (const KeyColumn& column : columns) total += bits(column.width);
  return total;
}

ResidentKeys pack(std::span<const KeyColumn> columns, std::size_t n, DeviceContext& device, const RowId* rows) {
  const bool as_it_is = rows == nullptr && columns.size() == 1 && bits(columns.front().width) >= 32;
  if (as_it_is) return {.data = columns.front().data, .width = columns.front().width, .owned = {}};
  const KeyWidth width = total_bits(columns) <= 32 ? KeyWidth::bytes4 : KeyWidth::bytes8;
  auto packed = device.allocate<std::byte>(n * static_cast<std::size_t>(width));
  std::vector<expression::KeyPart> parts;
  for (const KeyColumn& column : columns) parts.push_back({column, bits(column.width)});
  expression::pack_rows(parts, {n, rows}, width, packed.data(), device);
  const void* const data = packed.data();
  return {.data = data, .width = width, .owned = std::move(packed)};
}

}  // namespace skyrank::kernels::cuda::topk
