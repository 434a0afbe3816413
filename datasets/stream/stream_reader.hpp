#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <memory>

#include "datasets/input/read_options.hpp"
#include "datasets/stream/growing_file.hpp"

namespace skyrank::datasets {

/// Bytes of a stream that are read at a time, if so many have come.
inline constexpr std::size_t kStreamBytes = std::size_t{1} << 20;

/// Reads the rows of a stream as they come.
class StreamReader {
 public:
  virtual ~StreamReader() = default;

  /// Waits for rows, and returns them: those columns of `options.columns` that they have. Null at the end.
  virtual std::shared_ptr<arrow::Table> read() = 0;
};

/// Make a reader of a format. Columns have the types of `options.types`, but for Arrow's.
std::unique_ptr<StreamReader> csv_reader(std::unique_ptr<GrowingFile> file, const ReadOptions& options);
std::unique_ptr<StreamReader> json_reader(std::unique_ptr<GrowingFile> file, const ReadOptions& options);
std::unique_ptr<StreamReader> arrow_reader(std::unique_ptr<GrowingFile> file);

}  // namespace skyrank::datasets
