#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/file/folder_columns.hpp"
#include "datasets/input/files_source.hpp"

namespace skyrank::datasets {

/// Adds the columns of the files' folders to a source. Their statistics are exact, so that queries skip files by the
/// names of their folders. The table has the columns `columns`, or all of the files and then of the folders. Null where
/// the files store a column of the same name as a folder, which `read` refuses.
std::shared_ptr<const Source> folder_source(std::shared_ptr<const FilesSource> files, FolderColumns folders,
                                            const std::optional<std::vector<std::string>>& columns);

}  // namespace skyrank::datasets
