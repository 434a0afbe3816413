#pragma once

#include <arrow/io/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace skyrank::datasets {

/// A file of columns to read from.
struct ColumnarFile {
  std::shared_ptr<arrow::io::RandomAccessFile> input;
  std::uint64_t size = 0;
  std::string name;  ///< for messages
  /// Memory that values which are read at once may take.
  std::size_t memory_bytes = std::numeric_limits<std::size_t>::max();
};

}  // namespace skyrank::datasets
