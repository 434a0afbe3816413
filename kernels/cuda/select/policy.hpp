#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

/// Who selects from a row.
enum class RowKernel : std::uint8_t { warp, roomy_warp, block, roomy_block };
inline constexpr std::size_t kRowKernels = 4;

struct RowPolicy {
  static constexpr unsigned kBlockThreads = 256;
  /// A warp a row: few wanted numbers of many short rows, or of very short ones. 100,000 rows of 1,024, k = 10: 163; a
  /// block a row 1,062. One row of 1,600: 18; a block 9.
  using OfWarp = RowShape<32, 8, 4>;
  static constexpr std::size_t kMaxWantedOfWarp = 64;
  using OfRoomyWarp = RowShape<32, 8, 8>;
  static constexpr std::size_t kMaxWantedOfRoomyWarp = 128;
  static constexpr std::size_t kMaxBytesOfWarp = 8 * 1024;
  static constexpr std::size_t kMaxBytesOfFewRows = 2 * 1024;
  static constexpr std::size_t kManyRowsOfProcessor = 8;
  /// A block a row, for few wanted numbers and for many.
  using OfBlock = RowShape<kBlockThreads, 8, 4>;
  static constexpr std::size_t kMaxWantedOfBlock = 128;
  using OfRoomyBlock = RowShape<kBlockThreads, 16, 13>;
  static constexpr std::size_t kMaxWanted = 2048;

  /// Returns the kernel for one of `rows` rows, which has so many bytes.
  static constexpr RowKernel kernel_of(std::size_t rows, std::size_t bytes, std::size_t k,
                                       std::size_t multiprocessors) {
    const bool many = rows >= kManyRowsOfProcessor * multiprocessors;
    if (bytes <= (many ? kMaxBytesOfWarp : kMaxBytesOfFewRows)) {
      if (k <= kMaxWantedOfWarp) return RowKernel::warp;
      if (k <= kMaxWantedOfRoomyWarp) return RowKernel::roomy_warp;
    }
    return k <= kMaxWantedOfBlock ? RowKernel::block : RowKernel::roomy_block;
  }

  /// Calls use(shape) with the kernel's RowShape.
  template <class Use>
  static void with_shape(RowKernel kernel, Use use) {
    switch (kernel) {
      case RowKernel::warp: return use(OfWarp{});
      case RowKernel::roomy_warp: return use(OfRoomyWarp{});
      case RowKernel::block: return use(OfBlock{});
      case RowKernel::roomy_block: return use(OfRoomyBlock{});
    }
  }
};

/// Rows that several blocks read together.
struct LongPolicy {
  using Shape = RowShape<256, 8, 1>;
  /// The groups that may have a key within the bound beside a quarter more than are wanted, without further digits.
  static constexpr unsigned kEnough = 64;
  /// Words of a group, if groups are made larger for a block to find the bound, at most.
  static constexpr std::size_t kMaxWords = 128;
  static constexpr unsigned kTieWords = 4096;  ///< words of a piece in which ties are counted
  static constexpr std::size_t kBlocksOfProcessor = 4;
  static constexpr std::size_t kGroupsOfWanted = 6;  ///< groups of a row for each wanted number, if it is long enough
  static constexpr std::size_t kMinGroups = 512;     ///< groups of a row, at least
  static constexpr std::size_t kMinBlocks = 3;       ///< blocks that a row is long enough for, at least

  /// A block finds the bound of a row with few groups, of which each thread has so many.
  static constexpr unsigned kBoundThreads = 1024;
  static constexpr unsigned kBoundItems = 20;
  static constexpr std::size_t kMaxSortedRows = 64;   ///< rows, if more are wanted than a block puts in order
  static constexpr std::size_t kMaxSortedWords = 32;  ///< words of a group then
  static constexpr std::size_t kMinWanted = 2;        ///< one has kernels of its own (OnePolicy)
  static constexpr std::size_t kMaxWanted = std::size_t{10} << 20;
  /// Columns of a row that are read together, at most; of longer rows the best of stretches are put together.
  static constexpr std::size_t kMaxColumns = std::size_t{1} << 30;

  /// Returns the blocks of each row; 0 where rows are too many or too short.
  static constexpr std::size_t blocks_of(std::size_t rows, std::size_t columns, std::size_t k, std::size_t width,
                                         std::size_t multiprocessors) {
    constexpr std::size_t kGroups = Shape::kThreads * Shape::kGroups;
    const std::size_t for_device = (kBlocksOfProcessor * multiprocessors + rows - 1) / rows;
    const bool is_sorted = k > RowPolicy::kMaxWanted;
    if (k < kMinWanted || (is_sorted ? rows > kMaxSortedRows || k > kMaxWanted : for_device < 2)) return 0;
    // All groups have a number.
    const std::size_t words = columns * width / 16;
    const std::size_t most = words / (kGroups + 4);
    if (most < kMinBlocks || 2 * most * kGroups < 3 * k) return 0;
    const std::size_t for_wanted = kGroupsOfWanted * k / kGroups;
    const std::size_t for_length = is_sorted ? words / (kMaxSortedWords * kGroups) : 1;
    return std::min(std::max({for_device, for_wanted, for_length}), most);
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

/// Rows of which only the best number is wanted, divided into parts of which a block reads each.
struct OnePolicy {
  using Shape = RowShape<256, 8, 1>;
  static constexpr std::size_t kBlocksOfProcessor = 4;
  /// Words of 16 bytes of a part, at least: four loads of each thread.
  static constexpr std::size_t kMinWords = 1024;
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 30;  ///< a longer row takes 4 % less by many parts

  /// Returns the parts of each row; 1 where rows are too many, too short or too long.
  static constexpr std::size_t parts_of(std::size_t rows, std::size_t columns, std::size_t width,
                                        std::size_t multiprocessors) {
    if (columns * width > kMaxBytes) return 1;
    const std::size_t for_device = kBlocksOfProcessor * multiprocessors / rows;
    return std::max<std::size_t>(std::min(for_device, columns * width / 16 / kMinWords), 1);
  }
};

}  // namespace skyrank::kernels::cuda::select
