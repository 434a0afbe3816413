#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/common/memory.hpp"

// Vectors of values of many rows that a caller will own, in large pages; vectors that are counted have them anyway.
namespace skyrank::exec {

/// Returns an empty vector with room for n values in large pages.
template <class T>
std::vector<T> room_in_large_pages(std::size_t n) {
  std::vector<T> room;
  room.reserve(n);
  kernels::prefer_large_pages(room.data(), n * sizeof(T));
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
