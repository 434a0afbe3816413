#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/skyline/bitmap/candidates.cuh"
#include "kernels/cuda/skyline/bitmap/prefilter.cuh"

// The phases of cuda-blocked-bitmap, for those who put them together: one GPU with all rows, or several with a share
// each (team.cu). All work is in the order of the run's stream.
namespace skyrank::kernels::cuda::skyline::bitmap {

/// The rows that the prefilter leaves.
template <class Key>
struct Survivors {
  Buffer<std::uint32_t> rows;  ///< in any order
  Buffer<Key> few;             ///< keys of the first of them
  Buffer<PrefilterState> state;
};

/// Starts the prefilter of all rows, of which there is at least one. If it leaves at most `max_few`, the members among
/// them are marked.
template <class Key>
Survivors<Key> start_prefilter(SkylineRun& run, const KeyTable<Key>& table, std::uint32_t max_few,
                               std::uint32_t* members);

/// Returns the number of survivors; waits for the device.
template <class Key>
std::uint32_t count_survivors(SkylineRun& run, const Survivors<Key>& survivors);

/// Candidates in the order in which they meet, with the memory that they lie in.
struct OrderedRows {
  Candidates rows;
  std::uint32_t* order = nullptr;  ///< place of each candidate in the list that it comes from
  std::vector<Buffer<std::byte>> memory;
};

/// Orders `count` > 0 rows of a table, those that `list` names; null: the first ones. Equal tables and lists give equal
/// candidates, on all GPUs.
template <class Key>
OrderedRows order_rows(SkylineRun& run, const KeyTable<Key>& table, const std::uint32_t* list, std::uint32_t count);

/// Sets the bit of each row that nothing dominates: of `list`, or where that is null of places in it.
void mark_undominated(SkylineRun& run, const OrderedRows& ordered, const std::uint32_t* list, std::uint32_t* members);

}  // namespace skyrank::kernels::cuda::skyline::bitmap
