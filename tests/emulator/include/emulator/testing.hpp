#pragma once

#include <cstddef>

namespace skyrank::emulator {

/// Objects that the runtime has made and not destroyed.
struct Live {
  std::size_t device_allocations = 0;
  std::size_t device_bytes = 0;
  std::size_t host_allocations = 0;  ///< pinned or registered
  std::size_t pools = 0;             ///< without the device's own
  std::size_t streams = 0;
  std::size_t events = 0;

  bool operator==(const Live&) const = default;
};

Live live();

/// Bytes that the runtime's copies have brought from one side to the other since the program began.
struct Copied {
  std::size_t to_device = 0;
  std::size_t from_device = 0;
};

Copied copied();

}  // namespace skyrank::emulator
