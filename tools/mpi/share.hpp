#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <skyrank/batch.hpp>
#include <skyrank/partial.hpp>
#include <skyrank/table.hpp>

#include "datasets/reader.hpp"

namespace skyrank::mpi {

/// Returns the rows of `rank` out of `size` among `rows`: ranges that differ by at most one row.
RowRange share_of(std::int64_t rows, int rank, int size);

/// Consecutive rows of a table, and the number of the first.
using TakeRows = std::function<void(const Table& rows, RowId first)>;

/// One rank's rows of a table of a batch: whole units (row groups, record batches) of files that can be read in parts,
/// rows of a generated table, and rows of other files, which each rank reads whole because their types depend on all
/// values.
class Share {
 public:
  Share(const Batch& batch, int rank, int size, int threads, std::stop_token stop);

  /// Returns the names of a table's columns.
  datasets::ColumnNames column_names(const TableSpec& source) const;

  /// Calls `take` for all rows of this rank, some at a time and in their order, with `columns` (and maybe others). Rank
  /// 0 gets at least one call, so that somebody has the columns of a table without rows. Returns the number of rows of
  /// the whole table. Throws what reading and `take` throw.
  std::int64_t read(const TableSpec& source, const std::vector<std::string>& columns, const TakeRows& take) const;

 private:
  std::int64_t read_units(const Source& source, const std::vector<std::string>& columns, const TakeRows& take) const;

  std::filesystem::path directory_;
  int rank_;
  int size_;
  int threads_;
  std::stop_token stop_;
};

}  // namespace skyrank::mpi
