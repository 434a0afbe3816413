#pragma once

namespace skyrank::datasets {

/// Memory set aside while Arrow opens or reads a file. Its futures call back through functions that are noexcept, so
/// that an allocation that fails there would end the process. The first one that fails, on any thread, gets the reserve
/// instead, and `check` reports it afterwards. Several may exist at the same time; they share one reserve.
///
/// This takes a new handler, which belongs to the program and not to a library: nothing is set aside unless the program
/// has installed `give_up_memory_reserve`, as the command line does.
class MemoryReserve {
 public:
  /// std::bad_alloc where there is no memory to set aside.
  MemoryReserve();
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

  /// std::bad_alloc where an allocation has got the reserve since it was made.
  void check() const;
};

/// A std::new_handler for programs: lets go of the reserve, and throws std::bad_alloc where there is none.
void give_up_memory_reserve();

}  // namespace skyrank::datasets
