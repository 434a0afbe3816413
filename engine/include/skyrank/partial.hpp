#pragma once

#include <string>
#include <vector>

#include <skyrank/arrow.hpp>
#include <skyrank/export.hpp>
#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

// Declares partial answers: parts of a table are answered apart, by other processes or on other days, and merged
// exactly.
namespace skyrank {
inline namespace v0 {

/// The rows [begin, end) of a table.
struct RowRange {
  RowId begin = 0;  ///< first row, from 0
  RowId end = 0;    ///< one past the last row

  bool operator==(const RowRange&) const = default;
};

/// The rows of some parts of a table that can still be in the answer of a query, with the columns that the rest of the
/// query reads; of a query with `group_by` the first rows of the groups, with the states of their aggregates.
/// Engine::partial makes one, Engine::merge answers the query from several. A value: copies share memory.
class SKYRANK_EXPORT Partial {
 public:
  /// Checks what it is given. `columns` has a row for each of `rows`, which ascend and lie in `covers`; `covers` are
  /// ranges that ascend and do not overlap. Throws DataError.
  Partial(std::string fingerprint, std::vector<RowRange> covers, std::vector<RowId> rows, Table columns);

  /// Returns the fingerprint of the query that the partial answer belongs to (fingerprint_of()).
  const std::string& fingerprint() const noexcept { return fingerprint_; }
  /// Returns the rows of the whole table that the partial answer accounts for: ranges that ascend, are not empty, and
  /// are not adjacent.
  const std::vector<RowRange>& covers() const noexcept { return covers_; }
  /// Returns the positions of the candidates in the whole table, ascending.
  const std::vector<RowId>& rows() const noexcept { return rows_; }
  /// Returns the candidates' columns, in the order of rows().
  const Table& columns() const noexcept { return columns_; }

  /// Exports a record batch: the positions of the rows (int64) as its first column, then columns(). The metadata of
  /// its schema hold `skyrank.partial` (the version of the format, 2), `skyrank.query` (the fingerprint) and
  /// `skyrank.covers` (such as "0-100,200-300", ends excluded). The page "Parts" of the guide has the columns of
  /// groups.
  void export_arrow(ArrowArray* array, ArrowSchema* schema) const;
  /// Takes over a record batch that export_arrow() made, here or elsewhere; both structs are moved from, also when this
  /// throws. DataError where it is no partial answer, is of another version, or contradicts itself.
  static Partial import_arrow(ArrowArray* array, ArrowSchema* schema);

 private:
  std::string fingerprint_;
  std::vector<RowRange> covers_;
  std::vector<RowId> rows_;
  Table columns_;
};

/// Returns a partial answer with all its positions `by` rows further down: that of a part which was numbered from 0,
/// once the rows before it are counted. Throws DataError where `partial` belongs to another query, `by` is negative, or
/// the last row would not fit into 64 bits.
SKYRANK_EXPORT Partial moved(const Query& query, const Partial& partial, RowId by);

/// Returns 16 hexadecimal digits that are equal for queries with the same answers: the name, the table's name, the time
/// limit and a forced path do not count. A partial answer has that of the query whose unnamed keys over the table are
/// spelt as columns where they name some: only the table tells whether the key "a-b" is a column or a difference.
SKYRANK_EXPORT std::string fingerprint_of(const Query& query);

}  // namespace v0
}  // namespace skyrank
