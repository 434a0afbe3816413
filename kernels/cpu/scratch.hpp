#pragma once

#include <tbb/cache_aligned_allocator.h>

#include <new>
#include <utility>
#include <vector>

namespace skyrank::kernels {

/// Allocates what a run needs for itself, and leaves it uninitialised where no value is given. TBB's allocator keeps
/// the memory for the next run: pages that are fresh from the system cost more than a kernel that fills them.
template <class T>
class ScratchAllocator : public tbb::cache_aligned_allocator<T> {
 public:
  template <class U>
  struct rebind {  // NOLINT: the name that allocators have it by
    using other = ScratchAllocator<U>;
  };

  ScratchAllocator() = default;
  template <class U>
  ScratchAllocator(const ScratchAllocator<U>&) noexcept {}  // NOLINT: allocators convert

  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};

template <class T>
using Scratch = std::vector<T, ScratchAllocator<T>>;

}  // namespace skyrank::kernels
