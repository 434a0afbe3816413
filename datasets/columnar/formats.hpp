#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string_view>
#include <vector>

#include "datasets/columnar/columnar_source.hpp"
#include "datasets/input/columnar_file.hpp"
#include "datasets/input/files.hpp"
#include "datasets/input/read_options.hpp"

// The formats of files that store columns apart: one entry each. A format of text is a case in reader.cpp and
// file_columns.cpp.
namespace skyrank::datasets {

/// Reads files of one format.
struct ColumnarFormat {
  Format format;
  /// Returns true for the first bytes of such a file.
  bool (*is_start)(std::string_view bytes);
  std::shared_ptr<arrow::Schema> (*schema)(const ColumnarFile& file);
  /// Reads the top-level fields `indices`.
  std::shared_ptr<arrow::Table> (*table)(const ColumnarFile& file, const std::vector<int>& indices, bool threads);
  /// Returns null where the files cannot be read unit by unit.
  std::shared_ptr<const ColumnarSource> (*source)(std::vector<TableFile> files, const ReadOptions& options);
};

/// Returns the entry of a format; null for one of text.
const ColumnarFormat* columnar_format(Format format);

/// Returns the entry of the format that files with these first bytes have; null where it is none of these.
const ColumnarFormat* columnar_format_of(std::string_view start);

}  // namespace skyrank::datasets
