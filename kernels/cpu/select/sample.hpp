#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/select/scan.hpp"
#include "kernels/cpu/topk/sample.hpp"

// Places of the elements that tell how good the k best of a long row are.
namespace skyrank::kernels::select {

inline constexpr std::size_t kPiece = kGroups / 4;  ///< sampled elements next to each other, in one or two cache lines

/// Returns the number of elements of a long row to sample: a multiple of kGroups.
inline std::size_t sampled_elements(std::size_t n, std::size_t k) {
  constexpr std::size_t kMinSample = 1024;
  return std::max(kMinSample, 2 * topk::sample_size(n, k)) / kGroups * kGroups;
}

/// Returns the first element of a sampled piece.
inline std::size_t begin_of_piece(std::size_t piece, std::size_t pieces, std::size_t n) {
  return topk::sampled_position(piece, pieces, n / kPiece) * kPiece;
}

}  // namespace skyrank::kernels::select
