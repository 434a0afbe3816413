#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>

#include <skyrank/export.hpp>

// Selects the k smallest or largest elements of each row of a matrix, without a table, a query or an engine: for
// callers that sample from logits, keep the nearest of many distances, or prune weights.
namespace skyrank {
inline namespace v0 {

/// Types of the elements of a matrix.
enum class ElementType : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,   ///< IEEE 754 binary16
  bfloat16,  ///< the upper half of a float32
  float32,
  float64,
};

/// Returns the bytes of an element.
constexpr int width_in_bytes(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8: return 1;
    case ElementType::int16:
    case ElementType::uint16:
    case ElementType::float16:
    case ElementType::bfloat16: return 2;
    case ElementType::int32:
    case ElementType::uint32:
    case ElementType::float32: return 4;
    case ElementType::int64:
    case ElementType::uint64:
    case ElementType::float64: break;
  }
  return 8;
}

/// Returns the name of a type: "int8", "bfloat16", ...
SKYRANK_EXPORT std::string to_string(ElementType type);

/// A matrix in the caller's memory. Strides may be negative or 0.
struct MatrixView {
  const void* values = nullptr;             ///< element of the first row and column
  ElementType type = ElementType::float32;  ///< type of all elements
  std::int64_t rows = 0;                    ///< >= 0
  std::int64_t columns = 0;                 ///< >= 0
  std::int64_t row_stride = 0;              ///< bytes from a row to the next
  std::int64_t column_stride = 0;           ///< bytes from an element of a row to the next
};

/// Types of the positions that a selection writes.
enum class PositionType : std::uint8_t { int32, int64 };

/// The place of NaN in the order of a row, whatever its sign and payload and whether low or high elements are best.
enum class NanOrder : std::uint8_t { last, first };

/// Says which elements `select_k` selects, and how.
struct SelectOptions {
  bool largest = false;           ///< selects the largest elements instead of the smallest
  bool sorted = true;             ///< writes them best first; false: the same elements in any order
  NanOrder nan = NanOrder::last;  ///< NaN is worse than all numbers, or better
  int threads = 0;                ///< threads on the host; 0: those of the caller's TBB arena, by default one a core
  std::stop_token stop = {};      ///< ends the work on the host soon after it is requested
};

/// Memory for the elements that `select_k` selects: two arrays of shape (rows, k), row after row without gaps, aligned
/// to their types. Neither overlaps the matrix.
struct SelectOutput {
  void* values = nullptr;                            ///< copies of the elements, bit by bit
  void* positions = nullptr;                         ///< columns of the elements, counted from 0
  PositionType position_type = PositionType::int64;  ///< int32 for up to 2^31 columns
};

/// Writes the k smallest elements of each row of a matrix on the host, or its k largest, and their positions.
///
/// The answer is one and the same on every machine and for any number of threads: elements that are equal are taken,
/// and sorted, in the order of their positions; -0.0 equals 0.0, and one NaN equals another. Infinities are ordinary
/// values.
///
///     const std::vector<float> logits = {0.5f, 2.0f, -1.0f, 2.0f};
///     std::array<float, 2> values;
///     std::array<std::int64_t, 2> positions;
///     const skyrank::MatrixView row{
///         .values = logits.data(), .rows = 1, .columns = 4, .row_stride = 16, .column_stride = 4};
///     skyrank::select_k(row, 2, {.values = values.data(), .positions = positions.data()}, {.largest = true});
///     // values are {2, 2}, positions {1, 3}
///
/// Long rows are read once. Memory: up to 32 k bytes for each thread, or 16 for each element of a row where more than a
/// quarter of them is asked for.
///
/// DataError for sizes below 0, null pointers where there are elements, k below 0 or above the number of columns, and
/// more columns than the positions can count. CancelledError, and ResourceError where memory runs out; the output is
/// then undefined.
SKYRANK_EXPORT void select_k(const MatrixView& matrix, std::int64_t k, const SelectOutput& output,
                             const SelectOptions& options = {});

/// Returns the bytes of temporary device memory that `select_k` needs for these arguments on the current device, 0 for
/// none. Values and pointers do not matter. A matrix whose columns have gaps between them is copied; so are keys and
/// positions of whole rows if k is more than 2,048. DataError as for `select_k`; DeviceError in a build without
/// GPU kernels.
SKYRANK_EXPORT std::size_t select_k_workspace_bytes(const MatrixView& matrix, std::int64_t k, PositionType positions,
                                                    const SelectOptions& options = {});

/// Does the same on the current CUDA device, for a matrix and an output in its memory. Puts the work on `stream`, a
/// cudaStream_t (null: the default stream), and returns without waiting for it, so that it can be captured into a
/// graph. Nothing is allocated: `workspace` is device memory of `workspace_bytes`, at least those that
/// `select_k_workspace_bytes` returns, aligned to 256 bytes, which is free again once the stream has done the work.
///
/// `options.threads` and `options.stop` do not matter. Addresses and strides are multiples of the element's width.
/// DataError as on the host, and for too small a workspace; DeviceError in a build without GPU kernels, and where the
/// device refuses the work.
SKYRANK_EXPORT void select_k(const MatrixView& matrix, std::int64_t k, const SelectOutput& output,
                             const SelectOptions& options, void* workspace, std::size_t workspace_bytes, void* stream);

}  // namespace v0
}  // namespace skyrank
