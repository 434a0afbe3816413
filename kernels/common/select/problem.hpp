#pragma once

#include <cstddef>
#include <cstdint>

// The input and the output of kernels that select the best elements of each row of a matrix.
namespace skyrank::kernels {

/// Types of elements.
enum class Element : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
};

constexpr std::size_t bytes_of(Element element) {
  switch (element) {
    case Element::int8:
    case Element::uint8: return 1;
    case Element::int16:
    case Element::uint16:
    case Element::float16:
    case Element::bfloat16: return 2;
    case Element::int32:
    case Element::uint32:
    case Element::float32: return 4;
    case Element::int64:
    case Element::uint64:
    case Element::float64: break;
  }
  return 8;
}

constexpr bool is_float(Element element) { return element >= Element::float16; }
constexpr bool is_signed(Element element) { return element <= Element::int64; }

/// The k best of each row, 1 <= k <= columns, and at least one row. Equal elements rank by their positions. Zeros of
/// both signs are equal, and so are all NaN.
struct SelectProblem {
  const void* values = nullptr;  ///< element of the first row and column
  Element element = Element::float32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;     ///< bytes from a row to the next
  std::int64_t column_stride = 0;  ///< bytes from an element of a row to the next
  std::int64_t k = 0;
  bool largest = false;    ///< large elements are best
  bool nan_first = false;  ///< NaN is better than all numbers; false: worse
  bool sorted = true;      ///< the answer is written best first; false: in any order

  void* selected_values = nullptr;     ///< rows x k elements
  void* selected_positions = nullptr;  ///< rows x k positions
  bool wide_positions = true;          ///< positions are int64; false: int32
};

}  // namespace skyrank::kernels
