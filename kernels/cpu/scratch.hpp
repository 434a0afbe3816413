#pragma once

#include <tbb/cache_aligned_allocator.h>

#include <vector>

#include "kernels/common/memory.hpp"

namespace skyrank::kernels {

/// Scratch memory of a run, uninitialised unless a value is given. TBB's allocator keeps the memory for the next run:
/// pages that are fresh from the system cost more than a kernel that fills them.
struct ScratchMemory {
  static constexpr bool kLeavesValues = true;

  template <class T>
  static T* allocate(std::size_t n) {
    T* const values = tbb::cache_aligned_allocator<T>().allocate(n);
    prefer_large_pages(values, n * sizeof(T));
    return values;
  }
  template <class T>
  static void deallocate(T* data, std::size_t n) noexcept {
    tbb::cache_aligned_allocator<T>().deallocate(data, n);
  }
};

template <class T>
using Scratch = std::vector<T, CountingAllocator<T, ScratchMemory>>;

}  // namespace skyrank::kernels
