#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/input/files.hpp"

// Columns that are not in files but in the names of their folders, as Hive, Spark and others lay tables out:
// `t/city=Oslo/part.parquet` has the value 'Oslo' in column `city`.
namespace skyrank::datasets {

/// A folder `key=value`, percent-decoded. No value is NULL (`__HIVE_DEFAULT_PARTITION__`).
struct FolderValue {
  std::string key;
  std::optional<std::string> value;

  bool operator==(const FolderValue&) const = default;
};

/// The values that the folders of a file name, in the order of the folders. Of a file below `root` only the folders
/// below it count. DataError for a key that comes twice, or text that is not UTF-8.
std::vector<FolderValue> folder_values(const std::filesystem::path& file, const std::filesystem::path& root);

/// The columns that the folders of a table's files make. All values of a column are known before any file is read, so
/// that a reader may leave files out.
class FolderColumns {
 public:
  /// `values[i]` are those of file i, called `files[i]` in messages. DataError unless all files have the same keys.
  /// A column is int64 if all its values are integers as they are usually written, date32 if all are dates, else text;
  /// or it has the type that `types` states, and DataError names a value that is none of it.
  FolderColumns(const std::vector<std::vector<FolderValue>>& values, const std::vector<std::string>& files,
                const std::map<std::string, StatedType>& types);

  const std::vector<std::string>& names() const { return names_; }
  std::optional<std::size_t> find(const std::string& name) const;
  /// Number of files.
  std::size_t num_files() const { return num_files_; }
  /// A column's value in one file, `rows` times.
  std::shared_ptr<arrow::ChunkedArray> rows_of(std::size_t column, std::size_t file, std::int64_t rows) const;

 private:
  struct Values;

  std::vector<std::string> names_;
  std::size_t num_files_ = 0;
  std::vector<std::shared_ptr<const Values>> columns_;
};

}  // namespace skyrank::datasets
