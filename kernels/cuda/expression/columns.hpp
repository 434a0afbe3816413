#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/common/column_scan.hpp"
#include "kernels/common/expression.hpp"
#include "kernels/common/host_device.hpp"
#include "kernels/common/keys/key_recipe.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/array.hpp"
#include "kernels/cuda/expression/steps.hpp"

// From columns in the memory of device 0 to lists of rows and to keys, on the process's own context. Plain C++: in a
// build without CUDA there are no columns to begin with. All throw Failure and OutOfMemory.
namespace skyrank::kernels::cuda::expression {

/// The rows that an operator works on: all of [0, n), or the listed ones.
struct DeviceRows {
  std::size_t n = 0;
  const RowId* ids = nullptr;  ///< in device memory; null: the identity

  /// The row at a place of [0, n).
  SKYRANK_HD RowId at(std::size_t place) const { return ids == nullptr ? static_cast<RowId>(place) : ids[place]; }
};

/// A program, and what it reads; pointers of `instructions` and `columns` are to device memory.
struct DeviceExpression {
  std::vector<Instruction> instructions;
  std::vector<StoredColumn> columns;
  Stored result = Stored::float64;   ///< how values are stored: truth_bytes, int64, uint64 or float64
  std::optional<StepProgram> steps;  ///< the same for several rows at a time; without it kernels run a row at a time
};

/// A score and a filter as one program.
struct ComputedScan {
  DeviceExpression program;  ///< leaves the score, whose type its result is, and after it a truth if there is a filter
  std::size_t of_score = 0;  ///< instructions of the score, which come first
  bool high = false;         ///< true if the largest scores are best

  bool filters() const { return of_score < program.instructions.size(); }
};

/// Values of an expression for each row, and the memory that they lie in. Where a row failed they mean nothing.
struct Computed {
  StoredColumn column;
  DeviceArray values;
  DeviceArray validity;
  bool failed = false;
};

/// Evaluates an expression whose result is a number or a truth, for each row.
Computed evaluate(const DeviceExpression& expression, const DeviceRows& rows);

/// Ids of the rows for which a condition is true, in their order.
struct Passing {
  DeviceArray ids;
  std::size_t n = 0;
  bool failed = false;
};

/// Lists the rows for which a condition is true.
Passing filter(const DeviceExpression& condition, const DeviceRows& rows);

/// The least and greatest integer, and whether there are NULLs.
IntegerRange range_of(const StoredColumn& column, const DeviceRows& rows);

/// Keys of a column; `recipe` points to device memory.
DeviceArray make_keys(const StoredColumn& column, const DeviceRows& rows, const KeyRecipe& recipe, KeyWidth width);

/// The greatest of n keys; 0 of none.
std::uint64_t greatest_key(const KeyColumn& keys, std::size_t n);

/// A column of keys and how many of their bits count.
struct KeyPart {
  KeyColumn column;
  int bits = 0;
};

/// Most parts that `pack_parts` takes.
inline constexpr std::size_t kMaxParts = 64;

/// Keys side by side, the first in the highest bits, 64 in all at most.
DeviceArray pack_parts(std::span<const KeyPart> parts, std::size_t n, KeyWidth width);

/// The same of some rows, to `packed` in the memory of a device, in the order of its stream.
void pack_rows(std::span<const KeyPart> parts, const DeviceRows& rows, KeyWidth width, void* packed,
               DeviceContext& device);

/// The keys at `count` positions (of device memory), in that order.
DeviceArray take_keys(const KeyColumn& keys, const std::int64_t* positions, std::size_t count);

}  // namespace skyrank::kernels::cuda::expression
