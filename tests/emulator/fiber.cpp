#include "tests/emulator/fiber.hpp"

#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <utility>

#if defined(SKYRANK_ADDRESS_SANITIZER)  // the build says so, as this file itself is compiled without
#include <sanitizer/common_interface_defs.h>
#endif

namespace skyrank::emulator {
namespace {

namespace context = boost::context;

/// Only what is touched takes memory. Below lies a guard page.
constexpr std::size_t kStackBytes = 256 << 10;

/// Stacks end at different offsets in their pages, by turns: or the few lines in use of each would all fall into the
/// same sets of the caches.
std::size_t next_offset() {
  static std::size_t made = 0;
  return made++ % 128 * 448;
}

/// The one that was left last: whoever goes on knows then where it waits.
Fiber* left = nullptr;

}  // namespace

Fiber::Fiber(void (*run)(void*), void* argument) : size_(kStackBytes) {
  context::protected_fixedsize_stack allocator(kStackBytes);
  const context::stack_context stack = allocator.allocate();
  const std::size_t offset = next_offset();
  void* const top = static_cast<std::byte*>(stack.sp) - offset;
  size_ = stack.size - offset;
  stack_ = static_cast<const std::byte*>(top) - size_;
  context_ = context::fiber(std::allocator_arg, context::preallocated(top, size_, stack), allocator,
                            [this, run, argument](context::fiber&& from) {
                              left->context_ = std::move(from);
                              arrive();
                              run(argument);
                              return context::fiber();
                            });
}

void Fiber::switch_to(Fiber& other) {
  left = this;
  resting_ = __builtin_frame_address(0);
#if defined(SKYRANK_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(&record_, other.stack_, other.size_);
#endif
  context::fiber from = std::move(other.context_).resume();
  left->context_ = std::move(from);
  arrive();
}

void Fiber::fetch() const {
  if (resting_ == nullptr) return;
  constexpr int kLine = 64;
  for (int line = -4; line < 6; ++line) __builtin_prefetch(static_cast<const std::byte*>(resting_) + line * kLine);
}

/// Tells the sanitizer, first on a stack, that the switch is done. The sanitizer reports which stack was left, because
/// only it knows the stack of a thread.
void Fiber::arrive() {
#if defined(SKYRANK_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(record_, &left->stack_, &left->size_);
#endif
}

}  // namespace skyrank::emulator
