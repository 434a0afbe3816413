#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <skyrank/standing.hpp>
#include <skyrank/table.hpp>
#include <skyrank/types.hpp>

#include "engine/decimal.hpp"
#include "engine/standing/row_format.hpp"
#include "engine/standing/saved_file.hpp"

// A saved standing query: what it is a query of, its rows by ascending id, and how far its window has gone. States,
// skylines and answers are made from the rows when it is loaded.
//
//   query      its fingerprint, and its text for messages
//   schema     name and type of each column
//   options    the window, and `append_only`
//   kind       which rows follow (SavedKind)
//   state      the next id, the greatest time
//   ids        of the rows
//   times      with a window by time
//   keys       of SavedKind::skyline: their number in a row, then row by row
//   columns    name, type, a byte that says if there are NULLs, then a byte a row for these; values in their width;
//              of strings the length of each, then the characters
namespace skyrank::exec {

/// The rows that a file has.
enum class SavedKind : std::uint8_t {
  rows,     ///< all that are there
  state,    ///< rows of a state that can still matter: candidates, or groups with their aggregates
  skyline,  ///< rows of a skyline, with the columns that the rest of the query reads, and keys
};

/// Tells one standing query from another. A saved one can only be loaded as the same.
struct SavedIdentity {
  std::string fingerprint;
  std::string sql;
  std::vector<std::string> columns;  ///< names and types of the schema
  std::string window;
  bool append_only = false;
  SavedKind kind = SavedKind::rows;
};

/// Returns the identity of a standing query over tables of `schema`.
SavedIdentity identity_of(const Query& query, const Table& schema, const StandingOptions& options, SavedKind kind);

/// Rows to save, which go on from one piece to the next.
struct SavedPiece {
  std::span<const RowId> ids;
  Table columns;
  std::span<const Int128> times;
};

/// The numbers of a standing query, besides its rows.
struct SavedNumbers {
  RowId next_id = 0;
  Int128 greatest_time = kNoTime;
};

/// Writes a file. `keys` has those of all rows, `dims` each.
void write_rows(const std::filesystem::path& file, const SavedIdentity& identity, const SavedNumbers& numbers,
                const std::vector<SavedPiece>& pieces, std::size_t dims, std::span<const std::uint64_t> keys);

/// Rows that were saved. Their memory is counted.
struct SavedRows {
  SavedNumbers numbers;
  std::vector<RowId> ids;
  Table columns;
  std::vector<Int128> times;
  std::vector<std::uint64_t> keys;
};

/// Form of the rows that a loaded file must have.
struct SavedFormat {
  const Table& columns;    ///< names, types and traits of the columns
  bool has_times = false;  ///< with a window by time
  std::size_t dims = 0;    ///< keys of a row
};

/// Reads a file. DataError, with the place in it, for what is no saved query, is of another one, another version or
/// damaged; ResourceError where the system refuses, and kernels::OverLimit.
SavedRows read_rows(const std::filesystem::path& file, const SavedIdentity& identity, const SavedFormat& format);

}  // namespace skyrank::exec
