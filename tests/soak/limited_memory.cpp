#include "tests/soak/limited_memory.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace skyrank::memory {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::atomic<std::size_t> live_bytes = 0;
std::atomic<std::size_t> peak_bytes = 0;
std::atomic<std::size_t> limit = kNoLimit;

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::size_t size = malloc_usable_size(memory);
  const std::size_t now = live_bytes += size;
  if (now > limit) {
    live_bytes -= size;
    std::free(memory);
    throw std::bad_alloc();
  }
  std::size_t known = peak_bytes;
  while (known < now && !peak_bytes.compare_exchange_weak(known, now)) continue;
  return memory;
}

void release(void* memory) {
  if (memory == nullptr) return;
  live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

std::size_t live() { return live_bytes; }
std::size_t peak() { return peak_bytes; }
void reset_peak() { peak_bytes = live_bytes.load(); }

Limit::Limit(std::size_t bytes) { limit = bytes; }
Limit::~Limit() { limit = kNoLimit; }

}  // namespace skyrank::memory

// The other forms call these; but for those that do not throw, where a sanitizer has its own.
void* operator new(std::size_t size) { return skyrank::memory::counted(std::malloc(size > 0 ? size : 1)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto width = static_cast<std::size_t>(alignment);
  return skyrank::memory::counted(std::aligned_alloc(width, (size + width) / width * width));
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return operator new(size, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { skyrank::memory::release(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { skyrank::memory::release(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { skyrank::memory::release(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  skyrank::memory::release(memory);
}
