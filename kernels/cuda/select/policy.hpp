#pragma once

#include <algorithm>
#include <cstddef>

// The tuning constants of selection from rows. Times are microseconds on an H200.
namespace skyrank::kernels::cuda::select {

/// A kernel for rows: `threads` work on a row, each with `groups` groups of its numbers, and have room for `items` of
/// them each that may be among the best.
template <unsigned threads, unsigned groups, unsigned items>
struct RowShape {
  static constexpr unsigned kThreads = threads;
  static constexpr unsigned kGroups = groups;
  static constexpr unsigned kItems = items;
  static constexpr unsigned kRoom = threads * items;
};

struct RowPolicy {
  static constexpr unsigned kBlockThreads = 256;
  /// A warp a row: few wanted numbers of many short rows, or of very short ones. 100,000 rows of 1,024, k = 10: 163; a
  /// block a row 1,062. One row of 1,600: 18; a block 9.
  using OfWarp = RowShape<32, 8, 4>;
  static constexpr std::size_t kMaxWantedOfWarp = 64;
  static constexpr std::size_t kMaxBytesOfWarp = 8 * 1024;
  static constexpr std::size_t kMaxBytesOfFewRows = 2 * 1024;
  static constexpr std::size_t kManyRowsOfProcessor = 8;
  /// A block a row, for few wanted numbers and for many.
  using OfBlock = RowShape<kBlockThreads, 8, 4>;
  static constexpr std::size_t kMaxWantedOfBlock = 128;
  using OfRoomyBlock = RowShape<kBlockThreads, 16, 13>;
  static constexpr std::size_t kMaxWanted = 2048;

  static constexpr bool is_of_warp(std::size_t rows, std::size_t bytes, std::size_t k, std::size_t multiprocessors) {
    const bool many = rows >= kManyRowsOfProcessor * multiprocessors;
    return k <= kMaxWantedOfWarp && bytes <= (many ? kMaxBytesOfWarp : kMaxBytesOfFewRows);
  }
};

/// How rows are divided into parts.
struct PartPolicy {
  /// A part has at least so many columns, and so many for each wanted one, for what the parts leave to be little: 2^23
  /// floats, k = 32: 36; 8,192: 55.
  static constexpr std::size_t kMinColumns = 16'384;
  static constexpr std::size_t kMinColumnsOfWanted = 16;
  /// And at most so many, for groups to be small, as those with a wanted number are read again.
  static constexpr std::size_t kMaxColumns = 131'072;
  /// Parts of all rows for a multiprocessor, at least, if rows are long enough.
  static constexpr std::size_t kPartsOfProcessor = 6;

  /// Returns the parts that each of `rows` rows is divided into.
  static constexpr std::size_t parts_of(std::size_t rows, std::size_t columns, std::size_t k,
                                        std::size_t multiprocessors) {
    const std::size_t for_device = (kPartsOfProcessor * multiprocessors + rows - 1) / rows;
    const std::size_t for_length = (columns + kMaxColumns - 1) / kMaxColumns;
    const std::size_t most = columns / std::max(kMinColumns, kMinColumnsOfWanted * k);
    return std::clamp<std::size_t>(std::max(for_device, for_length), 1, std::max<std::size_t>(most, 1));
  }
};

}  // namespace skyrank::kernels::cuda::select
