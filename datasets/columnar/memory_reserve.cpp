#include "datasets/columnar/memory_reserve.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>

namespace skyrank::datasets {
namespace {

// Many times what opening a file and its schema take. Buffers for values come from Arrow's pools, which report failure.
constexpr std::size_t kBytes = std::size_t{1} << 20;

std::mutex mutex;  // guards `users`
int users = 0;

// Read by whichever thread finds no memory.
std::atomic<void*> block = nullptr;
std::atomic<bool> needed = false;
std::atomic<std::new_handler> replaced = nullptr;

/// Called by operator new when it finds no memory; it tries again when this returns.
void give_up_reserve() {
  if (void* const reserve = block.exchange(nullptr)) {
    needed = true;
    std::free(reserve);
  } else if (const std::new_handler handler = replaced) {
    handler();
  } else {
    throw std::bad_alloc();
  }
}

}  // namespace

MemoryReserve::MemoryReserve() {
  const std::scoped_lock lock(mutex);
  if (users == 0) {
    void* const reserve = std::malloc(kBytes);
    if (reserve == nullptr) throw std::bad_alloc();
    needed = false;
    block = reserve;
    replaced = std::get_new_handler();
    std::set_new_handler(give_up_reserve);
  }
  ++users;
}

MemoryReserve::~MemoryReserve() {
  const std::scoped_lock lock(mutex);
  if (--users > 0) return;
  std::set_new_handler(replaced);
  std::free(block.exchange(nullptr));
}

void MemoryReserve::check() const {
  if (needed) throw std::bad_alloc();
}

}  // namespace skyrank::datasets
