#include "tests/emulator/fiber.hpp"

#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define SKYRANK_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SKYRANK_ADDRESS_SANITIZER
#endif
#endif
#if defined(SKYRANK_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif

namespace skyrank::emulator {
namespace {

namespace context = boost::context;

/// Only what is touched takes memory. Below lies a guard page.
constexpr std::size_t kStackBytes = 256 << 10;

/// Before a change to another stack. The sanitizer's record of this one is kept, or dropped when there is no place.
void before_switch([[maybe_unused]] void** record, [[maybe_unused]] const void* stack,
                   [[maybe_unused]] std::size_t size) {
#if defined(SKYRANK_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(record, stack, size);
#endif
}

/// After it, on the stack that the record is of. Says which one was left.
void after_switch([[maybe_unused]] void* record, [[maybe_unused]] const void** stack,
                  [[maybe_unused]] std::size_t* size) {
#if defined(SKYRANK_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(record, stack, size);
#endif
}

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
                             before_switch(nullptr, outside_stack_, outside_size_);
                             return std::move(outside_);
                           });
}

Fiber::~Fiber() {
  ending_ = true;
  resume();
}

void Fiber::resume() {
  before_switch(&outside_record_, static_cast<const std::byte*>(stack_.sp) - stack_.size, stack_.size);
  inside_ = std::move(inside_).resume();
  after_switch(outside_record_, nullptr, nullptr);
}

void Fiber::suspend() {
  before_switch(&inside_record_, outside_stack_, outside_size_);
  outside_ = std::move(outside_).resume();
  enter();
}

void Fiber::enter() { after_switch(inside_record_, &outside_stack_, &outside_size_); }

}  // namespace skyrank::emulator
