#pragma once

namespace thrust {

template <class Policy, class Iterator, class Function, class Value, class Combine>
Value transform_reduce(const Policy& policy, Iterator first, Iterator last, Function function, Value initial,
                       Combine combine) {
  return policy.with_temporary_memory([&] {
    Value value = initial;
    for (; !(first == last); ++first) value = combine(value, function(*first));
    return value;
  });
}

}  // namespace thrust
