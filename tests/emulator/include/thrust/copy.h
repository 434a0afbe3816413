#pragma once

namespace thrust {

template <class Policy, class Iterator, class Output, class Predicate>
Output copy_if(const Policy& policy, Iterator first, Iterator last, Output to, Predicate predicate) {
  return policy.with_temporary_memory([&] {
    for (; !(first == last); ++first) {
      const auto value = *first;
      if (predicate(value)) *to++ = value;
    }
    return to;
  });
}

}  // namespace thrust
