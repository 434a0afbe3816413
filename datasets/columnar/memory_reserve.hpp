#pragma once

namespace skyrank::datasets {

/// Memory set aside while Arrow opens or reads a file. Its futures call back through functions that are noexcept, so
/// that an allocation that fails there would end the process. The first one that fails, on any thread, gets the reserve
/// instead, and `check` reports it afterwards. Takes the place of the process's new handler meanwhile, which it calls
/// when there is no reserve left. Several may exist at the same time; they share one reserve.
class MemoryReserve {
 public:
  /// std::bad_alloc where there is no memory to set aside.
  MemoryReserve();
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

  /// std::bad_alloc where an allocation has failed since the reserve was made.
  void check() const;
};

}  // namespace skyrank::datasets
