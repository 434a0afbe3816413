#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>

#include "emulator/temporary_storage.hpp"

namespace cub {

/// One value of all; of no values the operation's neutral one.
struct DeviceReduce {
  template <class Input, class Output, class Count>
  static cudaError_t Sum(void* storage, std::size_t& bytes, Input input, Output output, Count count,
                         cudaStream_t /*stream*/ = nullptr) {
    using Value = typename std::iterator_traits<Input>::value_type;
    return reduce(storage, bytes, input, output, count, Value{}, std::plus<Value>());
  }

  template <class Input, class Output, class Count>
  static cudaError_t Min(void* storage, std::size_t& bytes, Input input, Output output, Count count,
                         cudaStream_t /*stream*/ = nullptr) {
    using Value = typename std::iterator_traits<Input>::value_type;
    const auto lesser = [](const Value& a, const Value& b) { return std::min(a, b); };
    return reduce(storage, bytes, input, output, count, std::numeric_limits<Value>::max(), lesser);
  }

  template <class Input, class Output, class Count>
  static cudaError_t Max(void* storage, std::size_t& bytes, Input input, Output output, Count count,
                         cudaStream_t /*stream*/ = nullptr) {
    using Value = typename std::iterator_traits<Input>::value_type;
    const auto greater = [](const Value& a, const Value& b) { return std::max(a, b); };
    return reduce(storage, bytes, input, output, count, std::numeric_limits<Value>::lowest(), greater);
  }

 private:
  static constexpr std::size_t kStorage = 256;

  template <class Input, class Output, class Count, class Value, class Operation>
  static cudaError_t reduce(void* storage, std::size_t& bytes, Input input, Output output, Count count, Value neutral,
                            Operation operation) {
    return skyrank::emulator::with_temporary_storage(
        storage, bytes, kStorage, [&] { *output = std::reduce(input, input + count, neutral, operation); });
  }
};

}  // namespace cub
