#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
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

 protected:
  /// Some rows of a unit, counted within it.
  struct RowsOfUnit {
    std::size_t unit;
    std::vector<RowId> rows;
  };

  /// Returns ascending rows by the units that have some of them.
  std::vector<RowsOfUnit> by_unit(std::span<const RowId> rows) const {
    std::vector<RowsOfUnit> parts;
    RowId begin = 0;
    std::size_t next = 0;
    for (std::size_t unit = 0; unit < units().size() && next < rows.size(); ++unit) {
      const RowId end = begin + units()[unit].rows;
      RowsOfUnit part{unit, {}};
      const auto last = static_cast<std::size_t>(std::ranges::lower_bound(rows.subspan(next), end) - rows.begin());
      part.rows.reserve(last - next);
      for (; next < last; ++next) part.rows.push_back(rows[next] - begin);
      if (!part.rows.empty()) parts.push_back(std::move(part));
      begin = end;
    }
    return parts;
  }
};

}  // namespace skyrank::datasets
