#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/keys/keys.hpp"
#include "kernels/cuda/device/array.hpp"

// Keys in the memory of a GPU: copies between it and the host, and the functions of key_columns.hpp over keys that lie
// there.
namespace skyrank::exec {

/// n keys in the host's memory, or in the device's. They stay where they are if they are there.
Keys to_host(const Keys& keys, std::int64_t n);
Keys to_device(const Keys& keys, std::int64_t n);

/// Key columns in memory that an algorithm can read.
class HeldKeys {
 public:
  /// Views n keys of each of `columns`. Copies them to the host if they are on the device and `device` is the CPU, and
  /// on the device if they are not aligned.
  HeldKeys(const std::vector<Keys>& columns, std::int64_t n, kernels::Device device);

  std::span<const kernels::KeyColumn> columns() const { return columns_; }
  kernels::Memory memory() const { return memory_; }

 private:
  std::vector<Keys> held_;
  std::vector<kernels::KeyColumn> columns_;
  kernels::Memory memory_;
};

// Counterparts of the functions of key_columns.hpp for keys that are on the device.
Keys widen_on_device(const Keys& keys, std::int64_t n, kernels::KeyWidth width);
Keys combine_prior_on_device(const std::vector<Keys>& columns, std::int64_t n);
Keys take_on_device(const Keys& keys, std::span<const std::int64_t> positions);
/// `positions` holds `count` of type int64, on the device.
Keys take_on_device(const Keys& keys, const kernels::cuda::DeviceArray& positions, std::size_t count);

}  // namespace skyrank::exec
