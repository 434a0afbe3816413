#pragma once

#include <cstdint>

#include "kernels/cuda/skyline/solve.cuh"

namespace skyrank::kernels::cuda::skyline {

/// Marks those of `count` rows of a table of two columns that none of them dominates: a sort by both columns and a
/// sweep with the least second key so far (Kung, Luccio, Preparata: On Finding the Maxima of a Set of Vectors, JACM
/// 1975, section 2). `rows` are in device memory.
template <class Key>
void sweep_two_columns(SkylineRun& run, const KeyTable<Key>& table, const std::uint32_t* rows, std::uint32_t count,
                       std::uint32_t* members);

}  // namespace skyrank::kernels::cuda::skyline
