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
std::atomic<void*> reserved = nullptr;
std::atomic<bool> needed = false;

}  // namespace

void give_up_memory_reserve() {
  void* const reserve = reserved.exchange(nullptr);
  if (reserve == nullptr) throw std::bad_alloc();
  needed = true;
  std::free(reserve);
}

MemoryReserve::MemoryReserve() {
  const std::scoped_lock lock(mutex);
  if (users == 0) {
    needed = false;
    if (std::get_new_handler() == give_up_memory_reserve) {
      reserved = std::malloc(kBytes);
      if (reserved == nullptr) throw std::bad_alloc();
    }
  }
  ++users;
}

MemoryReserve::~MemoryReserve() {
  const std::scoped_lock lock(mutex);
  if (--users == 0) std::free(reserved.exchange(nullptr));
}

void MemoryReserve::check() const {
  if (needed) throw std::bad_alloc();
}

}  // namespace skyrank::datasets
