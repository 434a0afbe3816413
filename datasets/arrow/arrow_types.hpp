#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <skyrank/table.hpp>

// Normal types, the few of Arrow's that the engine has columns of, and conversion to them from the others.
namespace skyrank::datasets {

/// The Arrow type in which SkyRank takes values of `type` in: itself where it has a SkyRank type; decimal128 for
/// decimals of up to 38 digits in 256 bits or with a negative scale, the value type for dictionaries of other things
/// than strings, date32 for date64, strings for bytes and views. Null where there is none.
std::shared_ptr<arrow::DataType> normal_type(const std::shared_ptr<arrow::DataType>& type);

/// Returns true for a type of bytes, or of a dictionary of bytes.
bool is_bytes(const arrow::DataType& type);

/// Returns the type of a column's values: of a dictionary that of its entries, otherwise the type itself.
const arrow::DataType& type_of_values(const arrow::DataType& type);

/// Returns true for a dictionary that says that its entries are in order.
bool is_ordered_dictionary(const arrow::DataType& type);

/// Returns values whose type says nothing of an order. They share their memory.
std::shared_ptr<arrow::ChunkedArray> without_order(const std::shared_ptr<arrow::ChunkedArray>& values);

/// Values in their normal type, shared where the memory is the same, and checked: strings are UTF-8, decimals fit,
/// offsets and dictionary indices lie inside. DataError names file and column, and the row of a string that is not
/// UTF-8. Null for bytes that are not all UTF-8, which are no text. The type must have a normal type.
std::shared_ptr<arrow::ChunkedArray> normalise(const std::shared_ptr<arrow::ChunkedArray>& values,
                                               const std::string& file, const std::string& column);

/// The narrowest normal type that holds the values of both normal types exactly; null where there is none, as for
/// decimals with floats.
/// int64 with uint64 gives uint64, integers beyond 32 bits with floats give float64; `convert` refuses values that do
/// not fit.
std::shared_ptr<arrow::DataType> common_type(const std::shared_ptr<arrow::DataType>& a,
                                             const std::shared_ptr<arrow::DataType>& b);

/// Returns the row of the first value of a column of strings or bytes that is not UTF-8, NULLs aside; nothing where
/// there is none. Offsets and indices must lie inside.
std::optional<std::int64_t> first_row_not_utf8(const arrow::ChunkedArray& values);

/// Returns why a column of bytes, whose first row is `first_row`, is no text: the row, or the dictionary, that is not
/// UTF-8. Nothing where all of it is. Offsets and indices must lie inside.
std::optional<std::string> reason_against_text(const arrow::ChunkedArray& bytes, std::int64_t first_row = 0);

/// Values as another type, exactly; DataError names file, column and the value that does not fit.
std::shared_ptr<arrow::ChunkedArray> convert(const std::shared_ptr<arrow::ChunkedArray>& values,
                                             const std::shared_ptr<arrow::DataType>& type, const std::string& file,
                                             const std::string& column);

/// Signs and sizes of a column's integers.
struct IntegerRange {
  bool has_negative = false;
  bool beyond_int64 = false;
};

/// Looks at the values of a column of integers; of other types, neither holds.
IntegerRange integer_range(const std::shared_ptr<arrow::ChunkedArray>& values);

/// The first integer of a column that the floating-point type `type` does not hold exactly, as text.
std::optional<std::string> first_inexact(const arrow::ChunkedArray& values, const arrow::DataType& type);

/// Throws the DataError for a column that SkyRank cannot read: a list, a struct, a decimal of more than 38 digits,
/// bytes that are no text.
[[noreturn]] void refuse_type(const std::string& file, const UnsupportedColumn& column);

}  // namespace skyrank::datasets
