#pragma once

#include <tbb/cache_aligned_allocator.h>

#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/common/memory.hpp"

namespace skyrank::kernels {

/// Allocates what a run needs for itself, counted, and leaves it uninitialised where no value is given. TBB's allocator
/// keeps the memory for the next run: pages that are fresh from the system cost more than a kernel that fills them.
template <class T>
class ScratchAllocator {
 public:
  using value_type = T;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  ScratchAllocator() : account_(current_account()) {}
  explicit ScratchAllocator(MemoryAccount* account) : account_(account) {}
  template <class U>
  ScratchAllocator(const ScratchAllocator<U>& other) noexcept : account_(other.account()) {}  // NOLINT: they convert

  T* allocate(std::size_t n) {
    if (account_ != nullptr) account_->take(n * sizeof(T));
    try {
      return tbb::cache_aligned_allocator<T>().allocate(n);
    } catch (...) {
      if (account_ != nullptr) account_->give(n * sizeof(T));
      throw;
    }
  }
  void deallocate(T* data, std::size_t n) noexcept {
    tbb::cache_aligned_allocator<T>().deallocate(data, n);
    if (account_ != nullptr) account_->give(n * sizeof(T));
  }

  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }

  MemoryAccount* account() const noexcept { return account_; }
  template <class U>
  bool operator==(const ScratchAllocator<U>& other) const noexcept {
    return account_ == other.account();
  }

 private:
  MemoryAccount* account_;
};

template <class T>
using Scratch = std::vector<T, ScratchAllocator<T>>;

}  // namespace skyrank::kernels
