#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>

#include "emulator/temporary_storage.hpp"

namespace cub {

/// Prefix sums and the like; the output may be the input.
struct DeviceScan {
  template <class Input, class Output, class Count>
  static cudaError_t ExclusiveSum(void* storage, std::size_t& bytes, Input input, Output output, Count count,
                                  cudaStream_t /*stream*/ = nullptr) {
    using Value = typename std::iterator_traits<Input>::value_type;
    return skyrank::emulator::with_temporary_storage(storage, bytes, kStorage, [&] {
      std::exclusive_scan(input, input + count, output, Value{}, std::plus<Value>());
    });
  }

  template <class Input, class Output, class Count>
  static cudaError_t InclusiveSum(void* storage, std::size_t& bytes, Input input, Output output, Count count,
                                  cudaStream_t /*stream*/ = nullptr) {
    using Value = typename std::iterator_traits<Input>::value_type;
    return skyrank::emulator::with_temporary_storage(
        storage, bytes, kStorage, [&] { std::inclusive_scan(input, input + count, output, std::plus<Value>()); });
  }

  template <class Input, class Output, class Operation, class Value, class Count>
  static cudaError_t ExclusiveScan(void* storage, std::size_t& bytes, Input input, Output output, Operation operation,
                                   Value first, Count count, cudaStream_t /*stream*/ = nullptr) {
    return skyrank::emulator::with_temporary_storage(
        storage, bytes, kStorage, [&] { std::exclusive_scan(input, input + count, output, first, operation); });
  }

 private:
  static constexpr std::size_t kStorage = 256;
};

}  // namespace cub
