#pragma once

#include <cstddef>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/topk/guess.cuh"
#include "kernels/cuda/topk/in_order/order_plan.hpp"

// The last part of a selection: of a list that holds the k least elements and others, those k in ascending order.
namespace skyrank::kernels::cuda::topk {

/// Elements in device memory, all different.
template <class Element>
struct ElementList {
  const Element* elements = nullptr;
  std::size_t size = 0;  ///< as many as are likely; exactly so many where there is no guess
  /// Knows how many there are. Nothing is written, and `failed` is set, where they are not k to `capacity`. Without a
  /// guess only lists of up to kMaxCounted.
  Guess<Element>* guess = nullptr;
  std::size_t capacity = 0;
};

/// Where the answer goes; either may be null.
template <class Element>
struct InOrder {
  Element* elements = nullptr;
  RowId* rows = nullptr;  ///< of which the low 32 bits, of an element of 128 bits the low 64 bits, hold the row id
  std::size_t k = 0;      ///< at most the elements there are
};

/// Most wanted elements that the minima of groups of a list bound.
template <class Element>
inline constexpr std::size_t kMaxSelected = kMaxSelectedBytes / sizeof(Element);

/// Small lists by counting, up to kMaxOrdered elements by a sample sort. That guesses: guess->failed may be set,
/// though less than once in a million times.
template <class Element>
void least_in_order(const ElementList<Element>& list, const InOrder<Element>& answer, DeviceContext& device);

}  // namespace skyrank::kernels::cuda::topk
