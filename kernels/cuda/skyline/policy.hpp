#pragma once

#include <cstdint>

// The tuning constants of cuda-skyalign. GPUs of all architectures run with the same ones.
namespace skyrank::kernels::cuda::skyline {

struct SkyAlignPolicy {
  static constexpr unsigned kThreads = 128;
  /// Rows whose masks are tested before any dominance test; fewer where rows that are settled meanwhile count.
  static constexpr std::uint32_t kBatch = 32;
  static constexpr std::uint32_t kShortBatch = 2;
  static constexpr unsigned kPatience = 8;  ///< batches after which a warp looks if others have settled its rows
  /// Rows that are compared side by side, one by each thread.
  static constexpr std::uint32_t kFewRows = 1u << 18;
  /// Rows from which on a phase may take long enough for the host to wait for it.
  static constexpr std::uint32_t kManyRows = 1u << 17;
  /// Up to these dimensions cells are long, and most rows are dominated by one of their own: of more than two slices,
  /// those that begin late in a cell would find too many of its rows marked, and spare tests that one slice makes.
  static constexpr int kFewDims = 6;
  /// Tasks of a phase, or as many as there are rows in 32s, and the fewest rows of a slice.
  static constexpr std::uint32_t kTasks = 1u << 19;
  static constexpr std::uint32_t kSliceRows = 512;
};

}  // namespace skyrank::kernels::cuda::skyline
