#pragma once

#include <cstdint>

#include "kernels/cuda/skyline/prefilter.hpp"

namespace skyrank::kernels::cuda::skyline {

/// Quartiles of one column; 0-based: the keys at places 1/4, 2/4 and 3/4 of their sorted order.
template <class Key>
struct Quartiles {
  Key of[3];
};

/// Finds the quartiles of each column, over the rows of a list of at least one, in device memory, by sorting it (Bøgh,
/// Chester, Assent, PVLDB 2015, Algorithm 1, lines 3 to 5).
template <class Key>
Buffer<Quartiles<Key>> find_quartiles(SkylineRun& run, const KeyTable<Key>& table, const RowList& list);

}  // namespace skyrank::kernels::cuda::skyline
