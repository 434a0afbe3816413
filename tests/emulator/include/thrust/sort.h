#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace thrust {

template <class Policy, class Key, class Value>
void stable_sort_by_key(const Policy& policy, Key* first, Key* last, Value* values) {
  policy.with_temporary_memory([&] {
    const auto count = static_cast<std::size_t>(last - first);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return first[a] < first[b]; });
    const std::vector<Key> keys(first, last);
    const std::vector<Value> old(values, values + count);
    for (std::size_t place = 0; place < count; ++place) {
      first[place] = keys[order[place]];
      values[place] = old[order[place]];
    }
  });
}

}  // namespace thrust
