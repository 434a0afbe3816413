#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>

namespace skyrank::emulator {

/// A stack, and where the code on it goes on. The address sanitizer is told of every change of stacks.
class Fiber {
 public:
  /// The stack that the caller is on.
  Fiber() = default;
  /// A new one, on which `run(argument)` starts when it is first switched to. It must never return, and lives as long
  /// as the program.
  Fiber(void (*run)(void* argument), void* argument);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Goes on there. Returns when something switches back to this one, on which the caller is.
  void switch_to(Fiber& other);

  /// Brings what a switch to it will touch first into the caches.
  void fetch() const;

 private:
  void arrive();

  boost::context::fiber context_;
  const void* resting_ = nullptr;  ///< the end of its stack that it was left at
  // The sanitizer's: the stack, and its record of it while another one is in use.
  const void* stack_ = nullptr;
  std::size_t size_ = 0;
  [[maybe_unused]] void* record_ = nullptr;
};

}  // namespace skyrank::emulator
