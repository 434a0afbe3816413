#pragma once

#include <cstddef>

namespace thrust {

template <class Policy, class Iterator, class Predicate>
std::ptrdiff_t count_if(const Policy& policy, Iterator first, Iterator last, Predicate predicate) {
  return policy.with_temporary_memory([&] {
    std::ptrdiff_t count = 0;
    for (; !(first == last); ++first) count += predicate(*first) ? 1 : 0;
    return count;
  });
}

}  // namespace thrust
