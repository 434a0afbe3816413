#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/common/memory.hpp"
#include "kernels/cpu/large_pages.hpp"

// Memory for values of many rows, in large pages.
namespace skyrank::exec {

using kernels::prefer_large_pages;

/// The source of a counting allocator's memory: that of the system in large pages, with no values.
struct LargePages : kernels::RawMemory {
  template <class T>
  static T* allocate(std::size_t n) {
    T* const values = kernels::RawMemory::allocate<T>(n);
    prefer_large_pages(values, n * sizeof(T));
    return values;
  }
};

/// A vector whose elements have no value until they are given one. Its memory is counted.
template <class T>
using LargeVector = std::vector<T, kernels::CountingAllocator<T, LargePages>>;

/// Returns an empty vector with room for n values in large pages.
template <class T>
std::vector<T> room_in_large_pages(std::size_t n) {
  std::vector<T> room;
  room.reserve(n);
  prefer_large_pages(room.data(), n * sizeof(T));
  return room;
}

/// Copies values to a vector in large pages.
template <class T>
std::vector<T> in_large_pages(std::span<const T> values) {
  auto copy = room_in_large_pages<T>(values.size());
  copy.assign(values.begin(), values.end());
  return copy;
}

/// Makes a vector of n equal values in large pages.
template <class T>
std::vector<T> in_large_pages(std::size_t n, T value) {
  auto equal = room_in_large_pages<T>(n);
  equal.assign(n, value);
  return equal;
}

}  // namespace skyrank::exec
