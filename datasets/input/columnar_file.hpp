#pragma once

#include <arrow/io/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>

namespace skyrank::datasets {

/// A file of columns to read from.
struct ColumnarFile {
  std::shared_ptr<arrow::io::RandomAccessFile> input;
  std::uint64_t size = 0;
  std::string name;  ///< for messages
};

}  // namespace skyrank::datasets
