#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/guard.hpp"
#include "kernels/common/memory.hpp"

// The input and the output of kernels. Keys are unsigned integers that stand for preference values: smaller is better,
// always; equal keys are equal values. Types, directions, NaN, NULL and -0.0 were settled when the keys were made.
namespace skyrank::kernels {

using RowId = std::int64_t;

/// Bytes of one key.
enum class KeyWidth : std::uint8_t { bytes1 = 1, bytes2 = 2, bytes4 = 4, bytes8 = 8 };

constexpr int bits(KeyWidth width) { return 8 * static_cast<int>(width); }

/// The place of key columns: the host's memory, or that of the device that the context names.
enum class Memory : std::uint8_t { host, device };

/// n contiguous keys of one width.
struct KeyColumn {
  const void* data = nullptr;
  KeyWidth width = KeyWidth::bytes4;

  template <class Key>
  const Key* as() const {
    return static_cast<const Key*>(data);
  }
};

/// How the columns of a skyline problem combine. A tree in one array: node 0 is the root, children of a node are
/// consecutive. `key` nodes are leaves.
struct OrderNode {
  enum class Kind : std::uint8_t { key, pareto, prior };
  Kind kind = Kind::key;
  std::uint32_t first = 0;  ///< key: the column; otherwise the first child's index
  std::uint32_t count = 0;  ///< number of children
};

inline constexpr std::size_t kMaxDims = 64;

/// A skyline problem: find the rows among n that no other dominates. `keys` holds d columns, 1 <= d <= kMaxDims, of one
/// width, 4 or 8 bytes. Row j dominates row i when all its keys are <= and one is <; with `order`, as the tree says
/// instead.
struct SkylineProblem {
  std::size_t n = 0;
  std::span<const KeyColumn> keys;
  std::span<const OrderNode> order;  ///< empty: Pareto over all columns
  Memory memory = Memory::host;      ///< place of `keys`; on a device only for algorithms that run there
  Guard* guard = nullptr;            ///< bounds the steps of algorithms whose plans have one; null: none
};

/// The rule for rows that tie with the k-th place. The answer has those of lowest row ids, of highest, all of them (so
/// it may exceed k), or whichever is fastest (still exactly k rows with the right keys).
enum class TieRule : std::uint8_t { first, last, all, any };

/// Keys of consecutive rows, made a moment ago.
struct KeyBlock {
  const void* keys = nullptr;            ///< one a row; those of rows that take no part mean nothing
  const std::uint8_t* taking = nullptr;  ///< one byte a row, 0 or 1: whether it takes part; null: all do
  bool empty = false;                    ///< no row takes part, and there are no keys
};

inline constexpr std::size_t kKeyBlockRows = 2048;

/// Consecutive rows that share one entry of a zone map.
inline constexpr std::size_t kZoneRows = 256;

/// Makes keys, for one thread.
class KeyReader {
 public:
  KeyReader() = default;
  KeyReader(const KeyReader&) = delete;
  KeyReader& operator=(const KeyReader&) = delete;
  virtual ~KeyReader() = default;

  /// Reads the rows [begin, end), at most kKeyBlockRows. The memory that the result points to lives until the next
  /// call. May throw.
  virtual KeyBlock read(std::size_t begin, std::size_t end) = 0;

  /// The same before the filter: all rows take part. Only of a source that can filter late.
  virtual KeyBlock read_unfiltered(std::size_t begin, std::size_t end) = 0;

  /// Sets taking[i] to whether rows[i] takes part; ascending rows, at most kKeyBlockRows.
  virtual void filter(std::span<const RowId> rows, std::uint8_t* taking) = 0;
};

/// Floats that lie next to each other, none of them NULL, whose keys are those of float_key.
struct FloatColumn {
  const void* data = nullptr;
  KeyWidth width = KeyWidth::bytes4;  ///< 4 or 8 bytes
  bool high = false;
};

/// A filter and a score fused into a problem: which rows take part, and their keys, are found block by block, so that
/// neither a list of rows nor a column of keys is ever in memory. Reading a row again gives the same again.
class KeySource {
 public:
  KeySource() = default;
  KeySource(const KeySource&) = delete;
  KeySource& operator=(const KeySource&) = delete;
  virtual ~KeySource() = default;

  virtual KeyWidth width() const = 0;  ///< 4 or 8 bytes
  virtual bool has_filter() const = 0;
  /// Returns true if rows that lose by their keys may skip the filter.
  virtual bool can_filter_late() const = 0;
  /// The column that all keys are of, before the filter, if it is one that can be compared as it is.
  virtual std::optional<FloatColumn> floats() const { return std::nullopt; }
  /// The zone map: the least key, before the filter, of every kZoneRows consecutive rows, ceil(n / kZoneRows) keys of
  /// width(). Null where there is none. For an answer of `k` rows: a map that has yet to be made may not be worth it.
  virtual const void* zone_map(std::size_t k) const {
    (void)k;
    return nullptr;
  }
  virtual std::unique_ptr<KeyReader> reader() const = 0;
};

/// The k best of n rows, rows comparing lexicographically by `keys` (one or more columns of any widths), or of those
/// that take part by the keys that `source` makes. The answer is sorted by keys, then ascending row id.
struct TopKProblem {
  std::size_t n = 0;
  std::span<const KeyColumn> keys;  ///< none with a source
  std::size_t k = 0;
  TieRule ties = TieRule::first;
  const KeySource* source = nullptr;
  Memory memory = Memory::host;  ///< place of `keys`; on a device only for algorithms that run there
};

/// A problem without its data, for `supports` and cost models.
struct SkylineShape {
  std::size_t n = 0;
  std::size_t d = 0;
  KeyWidth width = KeyWidth::bytes4;
  bool general_order = false;  ///< an order tree other than one flat Pareto
};

struct TopKShape {
  std::size_t n = 0;
  std::size_t k = 0;
  std::vector<KeyWidth> widths;  ///< widths of the key columns, most significant first
  TieRule ties = TieRule::first;
  bool fused = false;  ///< keys of one width come from a source
};

SkylineShape shape_of(const SkylineProblem& problem);
TopKShape shape_of(const TopKProblem& problem);

/// The work of a run. Bytes are those of keys and intermediate arrays that the algorithm moves by its own account.
struct Work {
  std::uint64_t dominance_tests = 0;
  std::uint64_t mask_tests = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t candidates = 0;  ///< rows that survived the first filtering step

  Work& operator+=(const Work& other) {
    dominance_tests += other.dominance_tests;
    mask_tests += other.mask_tests;
    bytes_read += other.bytes_read;
    bytes_written += other.bytes_written;
    candidates += other.candidates;
    return *this;
  }
};

/// Milliseconds by the clock of the device that an algorithm ran on; zeros on the CPU.
struct DeviceTimes {
  double h2d_ms = 0;  ///< keys to the device; 0 when they were there
  double run_ms = 0;  ///< the algorithm, temporary memory included
  double d2h_ms = 0;  ///< the answer to the host
};

/// One stage of a run on a device that counts its work.
struct StageWork {
  std::string name;
  double ms = 0;           ///< by the device's clock
  std::uint64_t rows = 0;  ///< rows that the stage left undecided
  std::uint64_t dominance_tests = 0;
  std::uint64_t mask_tests = 0;
};

/// Row positions in [0, n), ascending. Where the problem's guard has struck they are the rows that are left: each row
/// that is not among them is dominated by one of them, so that their skyline is that of all rows.
struct SkylineSolution {
  Vector<RowId> rows;
  Work work;
  DeviceTimes times = {};
  std::vector<StageWork> stages = {};  ///< on a device, and only when work is counted
  bool complete = true;                ///< false: the guard has struck
};

/// Row positions in [0, n), best first.
struct TopKSolution {
  Vector<RowId> rows;
  Work work;
  DeviceTimes times = {};
};

/// Thrown by a kernel soon after its stop token asks for it.
struct Cancelled {};

namespace cuda {
class DeviceContext;
}  // namespace cuda

/// The environment of a run. CPU kernels run inside the caller's TBB arena and use at most its concurrency.
struct Context {
  bool count_work = false;  ///< counters cost nothing when off
  std::stop_token stop;
  cuda::DeviceContext* device = nullptr;  ///< null: the process's own context of device 0

  void check() const {
    if (stop.stop_requested()) throw Cancelled{};
  }
};

enum class Device : std::uint8_t { cpu, cuda };

/// Says if an algorithm can solve a problem of some shape, and if not, why.
struct Support {
  bool ok = true;
  std::string reason;

  static Support yes() { return {}; }
  static Support no(std::string why) { return {false, std::move(why)}; }
  explicit operator bool() const { return ok; }
};

/// For algorithms that have to have the keys of a top-k problem in memory.
inline Support needs_key_columns(const TopKShape& shape) {
  return shape.fused ? Support::no("needs keys in memory, not a fused filter and score") : Support::yes();
}

}  // namespace skyrank::kernels
