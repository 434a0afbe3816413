#pragma once

#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/system_error.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/topk/solve.cuh"

// Calls of Thrust's algorithms on the device and the stream of a run.
namespace skyrank::kernels::cuda::topk {

/// Temporary memory of Thrust's algorithms: the run's, within its limit. An allocator as Thrust wants it.
class ThrustMemory {
 public:
  using value_type = char;

  explicit ThrustMemory(const Run& run) : run_(run) {}

  char* allocate(std::ptrdiff_t bytes) {
    held_.push_back(run_.allocate<char>(static_cast<std::size_t>(bytes)));
    return held_.back().data();
  }
  void deallocate(char* memory, std::size_t /*bytes*/) {
    std::erase_if(held_, [memory](const Buffer<char>& held) { return held.data() == memory; });
  }

 private:
  const Run& run_;
  std::vector<Buffer<char>> held_;
};

/// Returns work(policy), which calls Thrust with that policy. A failure of CUDA is that of any other call.
template <class Work>
auto with_thrust(const Run& run, Work work) {
  run.context.check();
  ThrustMemory memory(run);
  try {
    return work(thrust::cuda::par(memory).on(run.stream()));
  } catch (const thrust::system_error& error) {
    SKYRANK_CUDA_CALL(static_cast<cudaError_t>(error.code().value()));
    throw;
  }
}

template <class E>
struct ElementAt {
  E elements;

  SKYRANK_HD typename E::Element operator()(std::size_t row) const { return elements.at(row); }
};

/// Iterates over the elements of all rows.
template <class E>
using EachElement = thrust::transform_iterator<ElementAt<E>, thrust::counting_iterator<std::size_t>>;

template <class E>
EachElement<E> each_element(const E& elements) {
  return {thrust::counting_iterator<std::size_t>(0), ElementAt<E>{elements}};
}

/// Copies those of n elements that `wanted` returns true for, in the order of their rows.
template <class E, class Predicate>
void copy_wanted(const Run& run, const E& elements, std::size_t n, typename E::Element* to, Predicate wanted) {
  with_thrust(run, [&](const auto& policy) {
    const auto all = each_element(elements);
    thrust::copy_if(policy, all, all + n, to, wanted);
  });
}

}  // namespace skyrank::kernels::cuda::topk
