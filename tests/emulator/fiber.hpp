#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>

namespace skyrank::emulator {

/// A stack of its own on which a function runs again and again, and may stop in between. The address sanitizer is told
/// of every change of stacks.
class Fiber {
 public:
  /// Nothing runs before the first `resume`.
  Fiber(void (*run)(void* argument), void* argument);
  /// The function must not be in between.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// From outside: starts the function or goes on with it, until it suspends or returns.
  void resume();
  /// From inside: back to `resume`'s caller.
  void suspend();

 private:
  void enter();

  void (*run_)(void*);
  void* argument_;
  bool ending_ = false;
  boost::context::stack_context stack_;
  boost::context::fiber inside_;
  boost::context::fiber outside_;
  // Of the sanitizer: each side's own record while the other one runs, and the stack to go back to.
  void* inside_record_ = nullptr;
  void* outside_record_ = nullptr;
  const void* outside_stack_ = nullptr;
  std::size_t outside_size_ = 0;
};

}  // namespace skyrank::emulator
