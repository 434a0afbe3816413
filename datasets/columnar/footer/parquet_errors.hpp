#pragma once

#include <arrow/status.h>
#include <parquet/exception.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <skyrank/error.hpp>

#include "datasets/input/input.hpp"

// The Parquet library reports damage by exceptions of its own and of the standard library, which become DataErrors.
namespace skyrank::datasets {

/// Comes before the cause in the message for a damaged file.
inline constexpr const char* kDamagedParquet = "not a Parquet file that can be read, or damaged";

/// Returns what `read` returns. What the library throws becomes an error that names the file.
template <class Read>
auto with_parquet_errors(const std::string& file, const Read& read) {
  try {
    return read();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const parquet::ParquetStatusException& error) {  // no memory, or a failed read
    check(error.status(), file, kDamagedParquet);
    throw;
  } catch (const std::exception& error) {  // of a failed allocation the library may keep the text alone
    check(arrow::Status::Invalid(error.what()), file, kDamagedParquet);
    throw;
  }
}

/// Returns what `read` returns. The message of a ParquetException gets the place before it unless it begins with one.
template <class Read>
auto in_chunk(int row_group, const std::string& column, const Read& read) {
  try {
    return read();
  } catch (const parquet::ParquetStatusException&) {
    throw;
  } catch (const parquet::ParquetException& error) {
    if (std::string_view(error.what()).starts_with("column '")) throw;
    throw parquet::ParquetException("column '", column, "' of row group ", row_group, ": ", error.what());
  }
}

}  // namespace skyrank::datasets
