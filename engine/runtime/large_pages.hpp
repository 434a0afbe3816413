#pragma once

#include <cstddef>
#include <span>
#include <vector>

// Memory of large answers. Its pages are fresh from the system, and in small ones that costs more than to fill them.
namespace skyrank::exec {

/// Asks the system for large pages where memory, which has not been touched yet, is large. It need not comply.
void prefer_large_pages(void* memory, std::size_t bytes) noexcept;

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
