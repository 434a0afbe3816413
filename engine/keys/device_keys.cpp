#include "engine/keys/device_keys.hpp"

#include <bit>
#include <cstddef>

#include "engine/keys/key_columns.hpp"
#include "engine/keys/key_memory.hpp"
#include "kernels/cuda/expression/columns.hpp"

namespace skyrank::exec {

namespace cuda = kernels::cuda;
using kernels::KeyWidth;
using kernels::Memory;

namespace {

Keys device_keys(cuda::DeviceArray array, KeyWidth width) {
  return {{array.data(), width}, array.owner(), Memory::device};
}

}  // namespace

Keys to_host(const Keys& keys, std::int64_t n) {
  if (keys.memory == Memory::host) return keys;
  return with_width(keys.column.width, [&]<class Key>(Key) {
    KeyMemory<Key> near(n);
    cuda::read_array(near.data(), keys.column.data, static_cast<std::size_t>(n) * sizeof(Key));
    return std::move(near).keys();
  });
}

Keys to_device(const Keys& keys, std::int64_t n) {
  if (keys.memory == Memory::device) return keys;
  const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(keys.column.width);
  return device_keys({keys.column.data, bytes}, keys.column.width);
}

namespace {

/// Keys that begin where kernels can load 16 bytes at a time: parts of a column may not.
Keys aligned(const Keys& keys, std::int64_t n) {
  constexpr std::uintptr_t kLoad = 16;
  if (reinterpret_cast<std::uintptr_t>(keys.column.data) % kLoad == 0) return keys;
  return widen_on_device(keys, n, keys.column.width);
}

}  // namespace

HeldKeys::HeldKeys(const std::vector<Keys>& columns, std::int64_t n, kernels::Device device)
    : held_(columns), memory_(columns.front().memory) {
  if (device == kernels::Device::cpu) {
    for (Keys& keys : held_) keys = to_host(keys, n);
    memory_ = Memory::host;
  } else if (memory_ == Memory::device) {
    for (Keys& keys : held_) keys = aligned(keys, n);
  }
  for (const Keys& keys : held_) columns_.push_back(keys.column);
}

Keys widen_on_device(const Keys& keys, std::int64_t n, KeyWidth width) {
  const cuda::expression::KeyPart part{keys.column, 0};
  return device_keys(cuda::expression::pack_parts({&part, 1}, static_cast<std::size_t>(n), width), width);
}

Keys combine_prior_on_device(const std::vector<Keys>& columns, std::int64_t n) {
  const auto rows = static_cast<std::size_t>(n);
  std::vector<cuda::expression::KeyPart> parts;
  int total = 0;
  for (const Keys& column : columns) {
    parts.push_back(
        {column.column, static_cast<int>(std::bit_width(cuda::expression::greatest_key(column.column, rows)))});
    total += parts.back().bits;
  }
  if (total > 64 || parts.size() > cuda::expression::kMaxParts) {
    // Ranks come from sorting whole rows, which the host does.
    std::vector<Keys> near;
    for (const Keys& column : columns) near.push_back(to_host(column, n));
    return to_device(combine_prior(near, n), n);
  }
  const std::uint64_t highest = total == 0 ? 0 : ~std::uint64_t{0} >> (64 - total);
  return device_keys(cuda::expression::pack_parts(parts, rows, width_for(highest)), width_for(highest));
}

Keys take_on_device(const Keys& keys, std::span<const std::int64_t> positions) {
  return take_on_device(keys, cuda::DeviceArray(positions.data(), positions.size_bytes()), positions.size());
}

Keys take_on_device(const Keys& keys, const cuda::DeviceArray& positions, std::size_t count) {
  return device_keys(
      cuda::expression::take_keys(keys.column, static_cast<const std::int64_t*>(positions.data()), count),
      keys.column.width);
}

}  // namespace skyrank::exec
