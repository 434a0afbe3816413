#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <skyrank/source.hpp>

namespace skyrank::datasets {

/// A source over the files of a table, each of whose units lies in one of them.
class FilesSource : public Source {
 public:
  /// Returns the place of the file that has a unit, among the files of the table.
  virtual std::size_t file_of(std::size_t unit) const = 0;
  /// Returns the names of all columns that the files store.
  virtual std::vector<std::string> stored_names() const = 0;
};

}  // namespace skyrank::datasets
