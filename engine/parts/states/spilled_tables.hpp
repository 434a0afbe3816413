#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/operators/gather/column_buffers.hpp"
#include "engine/temporary_file.hpp"

namespace skyrank::exec {

/// Tables of the same columns in a temporary file, by partitions: each table is written at once, its rows in the order
/// of their partitions, and the rows that all tables have in one partition are read together. Throws ResourceError.
class SpilledTables {
 public:
  /// The file is made in `folder`.
  SpilledTables(const std::filesystem::path& folder, std::size_t partitions) : file_(folder), partitions_(partitions) {}

  /// Writes a table that gather() made: the rows of partition p are [begins[p], begins[p + 1]). Tables are ordered by
  /// `place`. Several threads may write at once.
  void append(const Table& table, std::vector<std::int64_t> begins, std::int64_t place);

  /// Tables [first, last) in the order of their places.
  struct Range {
    std::size_t first;
    std::size_t last;
  };

  /// Reads the rows that these tables, at least one, have in a partition, table by table. Several threads may read at
  /// once, after all is written.
  Table read(std::size_t partition, Range range) const;

  std::int64_t rows(std::size_t partition) const { return rows(partition, all()); }
  std::int64_t rows(std::size_t partition, Range range) const;
  Range all() const { return {0, tables_.size()}; }
  std::size_t partitions() const { return partitions_; }
  std::uint64_t bytes() const { return file_.size(); }

 private:
  /// Places of a column's buffers in the file.
  struct Buffers {
    std::uint64_t values = 0;     ///< numbers, or characters
    std::uint64_t offsets = 0;    ///< strings: a 64-bit number a row and one more, from the first character on
    std::uint64_t validity = 0;   ///< a byte a row
    bool may_have_nulls = false;  ///< else there are no bytes of validity
  };
  struct Written {
    std::int64_t place;
    std::vector<std::int64_t> begins;
    std::vector<Buffers> columns;

    std::int64_t rows(std::size_t partition) const { return begins[partition + 1] - begins[partition]; }
  };

  /// Rows that are read.
  struct Part {
    std::size_t partition;
    std::span<const Written> tables;

    std::int64_t rows() const;
  };

  Part part(std::size_t partition, Range range) const {
    return {partition, std::span(tables_).subspan(range.first, range.last - range.first)};
  }
  Buffers write(const Column& column);
  Column read(std::size_t column, const Part& part) const;
  void read_numbers(std::size_t column, const Part& part, std::int64_t width, ColumnBuffers& buffers) const;
  void read_strings(std::size_t column, const Part& part, ColumnBuffers& buffers) const;
  /// `first` are the first characters of the tables.
  void read_characters(std::size_t column, const Part& part, const std::vector<std::int64_t>& first,
                       ColumnBuffers& buffers) const;
  void read_validity(std::size_t column, const Part& part, ColumnBuffers& buffers) const;

  TemporaryFile file_;
  const std::size_t partitions_;
  std::mutex mutex_;             // over all that follows
  std::vector<Written> tables_;  // by their places
  std::vector<Column> schema_;   // names and types
};

}  // namespace skyrank::exec
