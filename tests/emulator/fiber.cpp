#include "tests/emulator/fiber.hpp"

#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#else
namespace {

void __sanitizer_start_switch_fiber(void** /*record*/, const void* /*stack*/, std::size_t /*size*/) {}
void __sanitizer_finish_switch_fiber(void* /*record*/, const void** /*stack*/, std::size_t* /*size*/) {}

}  // namespace
#endif

namespace skyrank::emulator {
namespace {

namespace context = boost::context;

/// Only what is touched takes memory. Below lies a guard page.
constexpr std::size_t kStackBytes = 256 << 10;

}  // namespace

Fiber::Fiber(void (*run)(void*), void* argument) : run_(run), argument_(argument) {
  context::protected_fixedsize_stack allocator(kStackBytes);
  stack_ = allocator.allocate();
  inside_ = context::fiber(std::allocator_arg, context::preallocated(stack_.sp, stack_.size, stack_), allocator,
                           [this](context::fiber&& outside) {
                             outside_ = std::move(outside);
                             enter();
                             while (!ending_) {
                               run_(argument_);
                               suspend();
                             }
                             // A record of null: this stack will not be entered again.
                             __sanitizer_start_switch_fiber(nullptr, outside_stack_, outside_size_);
                             return std::move(outside_);
                           });
}

Fiber::~Fiber() {
  ending_ = true;
  resume();
}

void Fiber::resume() {
  __sanitizer_start_switch_fiber(&outside_record_, static_cast<const std::byte*>(stack_.sp) - stack_.size, stack_.size);
  inside_ = std::move(inside_).resume();
  __sanitizer_finish_switch_fiber(outside_record_, nullptr, nullptr);
}

void Fiber::suspend() {
  __sanitizer_start_switch_fiber(&inside_record_, outside_stack_, outside_size_);
  outside_ = std::move(outside_).resume();
  enter();
}

void Fiber::enter() { __sanitizer_finish_switch_fiber(inside_record_, &outside_stack_, &outside_size_); }

}  // namespace skyrank::emulator
