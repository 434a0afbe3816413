#include "engine/keys/device/readable_keys.hpp"

#include "engine/device/resident.hpp"
#include "kernels/common/keys/key_recipe.hpp"

namespace skyrank::exec {

using kernels::KeyWidth;
using kernels::Stored;
using kernels::StoredColumn;
using kernels::cuda::groups::kReadBytes;
using kernels::cuda::groups::ReadKeys;

namespace {

bool is_aligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % kReadBytes == 0; }

/// The values of a column on the device; null where a kernel cannot read them as keys.
const StoredColumn* readable(DeviceQueryState& device_state, const Column& column) {
  if (column.type().type == Type::string || !ResidentColumn::is_possible(column.data())) return nullptr;
  const StoredColumn& stored = device_state.column(column.data());
  if (stored.stored == Stored::truth_bytes || stored.stored == Stored::truth_bits) return nullptr;
  return stored.validity == nullptr && is_aligned(stored.values) ? &stored : nullptr;
}

ReadKeys keys_of(const StoredColumn& stored) {
  ReadKeys keys;
  keys.column = {stored.values, static_cast<KeyWidth>(kernels::bytes_of(stored.stored))};
  return keys;
}

}  // namespace

std::optional<ReadKeys> readable_keys(DeviceQueryState& device_state, const query::BoundRankTerm& term,
                                      const Table& table) {
  if (term.expression.column < 0) return std::nullopt;
  const StoredColumn* const stored = readable(device_state, table.column(term.expression.column));
  if (stored == nullptr) return std::nullopt;
  ReadKeys keys = keys_of(*stored);
  keys.is_float = kernels::is_float(stored->stored);
  keys.high = term.high;
  if (keys.is_float) return keys;
  const std::uint64_t sign = std::uint64_t{1} << (kernels::bits(keys.column.width) - 1);
  keys.flip = (kernels::is_signed(stored->stored) ? sign : 0) ^ (term.high ? ~std::uint64_t{0} : 0);
  return keys;
}

std::optional<ReadableCodes> readable_codes(DeviceQueryState& device_state, const Column& column) {
  const StoredColumn* const stored = readable(device_state, column);
  if (stored == nullptr || kernels::is_float(stored->stored)) return std::nullopt;
  const kernels::cuda::expression::DeviceRows all{static_cast<std::size_t>(column.data().length), nullptr};
  const kernels::IntegerRange range = kernels::cuda::expression::range_of(*stored, all);
  if (!range.any_value) return std::nullopt;
  ReadableCodes codes{keys_of(*stored), range.highest - range.lowest};
  codes.keys.base = kernels::ordered(range.lowest, kernels::is_signed(stored->stored));
  return codes;
}

}  // namespace skyrank::exec
