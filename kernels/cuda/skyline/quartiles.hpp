#pragma once

#include <cstdint>

#include "kernels/cuda/skyline/prefilter.hpp"

namespace skyrank::kernels::cuda::skyline {

/// Quartiles of one column; 0-based: the keys at places 1/4, 2/4 and 3/4 of their sorted order.
template <class Key>
struct Quartiles {
  Key of[3];
};

/// Finds the quartiles of each column, over the rows of a list of at least one, in device memory. They are exact, by
/// selecting digits from the highest on, all columns and all three ranks at a time: the result of sorting each column
/// (Bøgh, Chester, Assent, PVLDB 2015, Algorithm 1, lines 3 to 5), for three reads of keys of 32 bits and six of keys
/// of 64.
template <class Key>
Buffer<Quartiles<Key>> find_quartiles(SkylineRun& run, const KeyTable<Key>& table, const RowList& list);

}  // namespace skyrank::kernels::cuda::skyline
