#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "datasets/file/folder_columns.hpp"
#include "datasets/file/input_file.hpp"
#include "datasets/reader.hpp"

// The files of one table, joined to columns of common types.
namespace skyrank::datasets {

/// The columns of the files' folders.
FolderColumns folders_of(const std::vector<InputFile>& files, const ReadOptions& options);

/// DataError where a type is stated for a column that is not there.
void refuse_unknown_types(const ReadOptions& options, const ColumnNames& names, const std::string& file);

/// DataError where a column does not have the type that is stated for it: files of columns have types of their own.
void refuse_other_types(const ReadOptions& options, const Table& table, const std::string& file);

/// DataError where `file` stores a column that its folders give, too.
void refuse_stored_names(const FolderColumns& folders, const ColumnNames& stored, const std::string& file);

/// The stored columns, and behind them those of the folders.
ColumnNames with_folders(ColumnNames names, const FolderColumns& folders);

/// The rows of several files as one table.
struct FilesTogether {
  std::shared_ptr<arrow::Table> table;
  std::vector<UnsupportedColumn> unsupported;  ///< columns of the files that the table lacks
};

/// Reads all files, as `read` says; without rows where `rows` is false.
FilesTogether concatenate(std::vector<InputFile> files, const ReadOptions& options, bool rows);

}  // namespace skyrank::datasets
