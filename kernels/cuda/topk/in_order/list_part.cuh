#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/topk/block/element.cuh"
#include "kernels/cuda/topk/block/guess.cuh"
#include "kernels/cuda/topk/in_order/least_in_order.hpp"

// The input and the output of kernels that put a list in order.
namespace skyrank::kernels::cuda::topk {

/// The part of a list that a kernel reads: all of it, or a sample.
template <class Element>
struct Part {
  const Element* elements = nullptr;
  std::size_t fixed_size = 0;  ///< 0: the guess's candidates
  std::size_t sampled = 0;     ///< 0: all
  Guess<Element>* guess = nullptr;
  std::size_t least_size = 0;  ///< least number of elements that a guess may have found
  std::size_t most_size = 0;

  __device__ bool failed() const {
    return guess != nullptr && (guess->failed != 0 || guess->candidates < least_size || guess->candidates > most_size);
  }
  __device__ std::size_t all() const { return fixed_size > 0 ? fixed_size : guess->candidates; }
  __device__ std::size_t size() const { return sampled > 0 ? sampled : all(); }
  __device__ Element at(std::size_t i) const { return elements[sampled > 0 ? sampled_place(i, sampled, all()) : i]; }
};

/// Takes elements by their rank.
template <class Element>
struct Ranked {
  InOrder<Element> answer;
  std::size_t every = 1;  ///< only the last of so many elements is taken

  __device__ void put(std::size_t rank, Element element) const {
    constexpr Element kRowMask = sizeof(Element) == 8 ? Element{0xffffffff} : Element{~std::uint64_t{0}};
    if (every > 1) {
      if ((rank + 1) % every != 0) return;
      rank = (rank + 1) / every - 1;
    }
    if (rank >= answer.k) return;
    if (answer.elements != nullptr) answer.elements[rank] = element;
    if (answer.rows != nullptr) answer.rows[rank] = static_cast<RowId>(element & kRowMask);
  }
};

/// Numbers that a kernel sets to zero for those after it.
struct Zeros {
  unsigned* words = nullptr;
  unsigned count = 0;

  __device__ void set() const {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) words[i] = 0;
  }
};

}  // namespace skyrank::kernels::cuda::topk
