#pragma once

#include <cstddef>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/topk/block/guess.cuh"
#include "kernels/cuda/topk/in_order/order_plan.hpp"

// The last part of a selection: of a list that holds the k least elements and others, those k in ascending order.
namespace skyrank::kernels::cuda::topk {

/// Elements in device memory, all different.
template <class Element>
struct ElementList {
  const Element* elements = nullptr;
  std::size_t size = 0;  ///< the likely number of elements; the exact one if there is no guess
  /// Knows how many there are. Nothing is written, and `failed` is set, where they are not k to `capacity`. Without a
  /// guess only lists of up to kMaxCounted.
  Guess<Element>* guess = nullptr;
  std::size_t capacity = 0;
};

/// The place of the answer; either may be null.
template <class Element>
struct InOrder {
  Element* elements = nullptr;
  RowId* rows = nullptr;  ///< row ids: the low 32 bits of an element, or the low 64 bits of one of 128 bits
  std::size_t k = 0;      ///< at most the elements there are
};

/// Small lists by counting, up to kMaxOrdered elements by a sample sort. That guesses: guess->failed may be set,
/// though less than once in a million times.
template <class Element>
void least_in_order(const ElementList<Element>& list, const InOrder<Element>& answer, DeviceContext& device);

/// The same in the order of a stream, with a guess. Where it fails, all elements are compared with each other, so that
/// the answer is there in any case. `starts`: false only takes the memory.
template <class Element>
void least_in_order_at_last(const ElementList<Element>& list, const InOrder<Element>& answer,
                            const DeviceStream& device, MemoryResource& memory, bool starts);

}  // namespace skyrank::kernels::cuda::topk
