#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/expression/evaluate.hpp"

namespace skyrank::exec {

/// Returns codes of the entries of a column's dictionary, equal for equal strings, and one entry more: NULL rows look
/// up entry 0. NULL has code 0 if the column may have any, and all codes are at most the number of entries.
Vector<std::uint32_t> number_entries(const Column& column);

/// Hashes the positions [0, n) of a row set by their values in some columns, a block at a time. Columns of together at
/// most 64 bits (after their lowest value is subtracted) give exact hashes: a permutation of the packed values. Other
/// hashes tell values apart only with equal(). NULLs are equal to each other, NaNs too, and -0.0 to 0.0.
class GroupKeys {
 public:
  /// `rows` must outlive the object. Reads a column's range only where its type alone is too wide.
  GroupKeys(const Table& table, std::span<const int> columns, const Rows& rows);

  /// Makes hashes that are equal for equal values in different tables. None are exact.
  static GroupKeys across_tables(const Table& table, std::span<const int> columns, const Rows& rows);

  std::int64_t rows() const { return rows_.n; }
  /// Returns true if positions with equal hashes have equal values.
  bool are_exact() const { return exact_; }

  /// Writes the hashes of the positions [begin, begin + size); 0 <= size <= kBlockRows.
  void hash(std::int64_t begin, std::int64_t size, std::uint64_t* out) const;

  /// Begins to load the values of a position, for equal().
  void prefetch(std::int64_t position) const;

  /// Compares the values of two positions.
  bool equal(std::int64_t a, std::int64_t b) const;

 private:
  enum class Kind : std::uint8_t { integer, floating, entries, wide, text };
  /// A column and its codes: numbers that are equal for equal values.
  struct Field {
    explicit Field(Column of) : column(std::move(of)) {}

    Column column;
    Kind kind = Kind::integer;
    std::uint64_t lowest = 0;       // code of the lowest integer
    int bits = 0;                   // bits of a code; more than 64 where codes do not tell all values apart
    Vector<std::uint32_t> entries;  // codes of a dictionary's entries
  };

  explicit GroupKeys(const Rows& rows) : rows_(rows) {}
  static Field field_of(const Column& column);
  void measure(Field& field) const;
  int total_bits() const;
  void load_codes(const Field& field, std::int64_t begin, std::int64_t size, std::uint64_t* out) const;
  void load_numbers(const Field& field, std::int64_t begin, std::int64_t size, std::uint64_t* out) const;
  bool equal(const Field& field, RowId a, RowId b) const;

  Rows rows_;
  std::vector<Field> fields_;
  bool exact_ = false;
};

}  // namespace skyrank::exec
