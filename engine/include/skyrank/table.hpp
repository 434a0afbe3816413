#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/export.hpp>
#include <skyrank/types.hpp>

// Declares tables of named columns, which view the memory of the application or own theirs.
namespace skyrank {
struct KeptAccess;  // engine/runtime/column_cache.hpp

inline namespace v0 {

/// The arrangement of a column's values in memory.
enum class Layout : std::uint8_t {
  plain,       ///< fixed-width values, `stride` bytes from one to the next
  bits,        ///< booleans, one bit each, least significant first, from bit `bit_offset`
  utf8,        ///< `offsets32[i] .. offsets32[i + 1]` in `values`
  large_utf8,  ///< the same with 64-bit offsets
  views,       ///< an array of std::string_view
  dictionary,  ///< fixed-width indices (`index_type`, `stride`) into `dictionary`
};

/// Validity of a column's rows: bit set = present, least significant first. `bits == nullptr` means no NULLs.
struct Validity {
  const std::uint8_t* bits = nullptr;  ///< one bit a row; null if no row is NULL
  std::int64_t offset = 0;             ///< bit of row 0

  /// Returns true if the row has a value.
  bool operator()(std::int64_t row) const {
    const std::int64_t bit = offset + row;
    return bits == nullptr || ((bits[bit >> 3] >> (bit & 7)) & 1) != 0;
  }
};

/// The physical description of a column, for code that walks the memory itself.
struct SKYRANK_EXPORT ColumnData {
  DataType type;                                 ///< type of the values
  Layout layout = Layout::plain;                 ///< decides which of the following members count
  std::int64_t length = 0;                       ///< number of rows
  const void* values = nullptr;                  ///< first value, bit, character, view or index
  std::int64_t stride = 0;                       ///< bytes from one value to the next
  std::int64_t bit_offset = 0;                   ///< first bit of packed booleans
  const std::int32_t* offsets32 = nullptr;       ///< `utf8`: length + 1 offsets
  const std::int64_t* offsets64 = nullptr;       ///< `large_utf8`: length + 1 offsets
  Validity validity;                             ///< rows that are not NULL
  Type index_type = Type::int32;                 ///< `dictionary`: type of the indices
  std::shared_ptr<const ColumnData> dictionary;  ///< `dictionary`: the values that the indices name
  std::shared_ptr<const void> owner;             ///< keeps the memory alive; null when the caller does

  /// The string of a row of a string column in any of its layouts; undefined for a NULL row.
  std::string_view string_at(std::int64_t row) const;

 private:
  struct Kept;
  friend struct skyrank::KeptAccess;

  std::shared_ptr<Kept> kept_;  // the engine's own: what queries found in the values; shared by copies, null without
};

/// One named, typed, immutable column. Copies share memory. Memory that the caller keeps must not change either:
/// queries remember what earlier ones found in it.
class SKYRANK_EXPORT Column {
 public:
  /// Views n = values.size() values without copying; the caller keeps the memory (and `validity`) alive for as long as
  /// the column is used.
  template <FixedWidthValue T>
  static Column view(std::string name, std::span<const T> values, Validity validity = {}) {
    return view_strided(std::move(name), type_of<T>(), values.data(), static_cast<std::int64_t>(values.size()),
                        sizeof(T), validity);
  }
  /// Views values that are stored as T and mean another type, such as ticks or days; DataError when the widths differ.
  template <class T>
  static Column view_as(std::string name, DataType type, std::span<const T> values, Validity validity = {}) {
    check_width(name, type, sizeof(T));
    return view_strided(std::move(name), type, values.data(), static_cast<std::int64_t>(values.size()), sizeof(T),
                        validity);
  }
  /// Strings viewed in place; the caller keeps both the array and the characters alive.
  static Column view(std::string name, std::span<const std::string_view> values, Validity validity = {});
  /// Views n >= 0 values, `stride_bytes` apart (a column of a row-major matrix, a field of an array of structs); 0
  /// makes all rows the one value. DataError for strings, a negative n, and a null pointer to values.
  static Column view_strided(std::string name, DataType type, const void* values, std::int64_t n,
                             std::int64_t stride_bytes, Validity validity = {});

  /// Takes the values over. `valid[i] == false` makes row i NULL; an empty `valid` means no NULLs. DataError, here and
  /// below, where `valid` has another number of flags than there are values.
  template <FixedWidthValue T>
  requires(!std::same_as<T, bool>) static Column
      own(std::string name, std::vector<T> values, const std::vector<bool>& valid = {}) {
    return own_as(std::move(name), type_of<T>(), std::move(values), valid);
  }
  /// Copies booleans.
  static Column own(std::string name, const std::vector<bool>& values, const std::vector<bool>& valid = {});
  /// Copies strings.
  static Column own(std::string name, const std::vector<std::string>& values, const std::vector<bool>& valid = {});
  /// Takes values over that are stored as T and mean another type; DataError when the widths differ.
  template <class T>
  static Column own_as(std::string name, DataType type, std::vector<T> values, const std::vector<bool>& valid = {}) {
    check_width(name, type, sizeof(T));
    auto store = std::make_shared<const std::vector<T>>(std::move(values));
    return own_memory(std::move(name), type, store->data(), static_cast<std::int64_t>(store->size()), store, valid);
  }

  /// Makes a column of memory that an importer describes. DataError where its length is negative.
  Column(std::string name, ColumnData data);

  /// Returns the name.
  const std::string& name() const noexcept { return name_; }
  /// Returns the type of the values.
  DataType type() const noexcept { return data_.type; }
  /// Returns the number of rows.
  std::int64_t size() const noexcept { return data_.length; }
  /// Returns the description of the memory.
  const ColumnData& data() const noexcept { return data_; }
  /// Returns false if no row can be NULL.
  bool may_have_nulls() const noexcept { return data_.validity.bits != nullptr; }
  /// Returns true if the row is NULL.
  bool is_null(std::int64_t row) const { return !data_.validity(row); }
  /// Returns the value of one row, for printing and tests; loops read data(). Throws std::out_of_range.
  Value value(std::int64_t row) const;
  /// Returns the same column under another name.
  Column renamed(std::string name) const;

 private:
  static void check_width(const std::string& name, DataType type, std::size_t bytes);
  static Column own_memory(std::string name, DataType type, const void* values, std::int64_t n,
                           std::shared_ptr<const void> owner, const std::vector<bool>& valid);

  std::string name_;
  ColumnData data_;
};

/// A column that the source of a table has and the table lacks, because SkyRank cannot read it.
struct UnsupportedColumn {
  std::string name;         ///< name in its source
  std::string type;         ///< type as the source's format names it, such as list<int64>
  std::string reason = {};  ///< empty where the type alone is the reason

  bool operator==(const UnsupportedColumn&) const = default;
};

/// An immutable set of equally long columns with distinct names. Copies share memory. Thread-safe to read.
class SKYRANK_EXPORT Table {
 public:
  /// Makes a table without columns and rows.
  Table() = default;
  /// DataError when lengths differ or a name comes twice.
  explicit Table(std::vector<Column> columns);
  /// Makes a table without columns that still has a number of rows, >= 0; DataError for a negative one.
  static Table with_rows(std::int64_t rows);

  /// Returns the number of rows.
  std::int64_t num_rows() const noexcept { return rows_; }
  /// Returns the number of columns.
  int num_columns() const noexcept { return static_cast<int>(columns_.size()); }
  /// Returns the columns, in their order.
  const std::vector<Column>& columns() const noexcept { return columns_; }
  /// Returns a column by its index; throws std::out_of_range.
  const Column& column(int index) const { return columns_.at(static_cast<std::size_t>(index)); }
  /// BindError, with the nearest name, when there is none.
  const Column& column(std::string_view name) const;
  /// Returns the index of a column, or nothing.
  std::optional<int> find(std::string_view name) const;

  /// Returns the same table with a list of the columns that its source has besides. A query that names one of them is a
  /// BindError that tells its type; warnings_of() names those that an answer lacks.
  Table with_unsupported(std::vector<UnsupportedColumn> columns) const;
  /// Returns the columns that the table's source has besides.
  const std::vector<UnsupportedColumn>& unsupported() const noexcept { return unsupported_; }

 private:
  struct Kept;
  friend struct skyrank::KeptAccess;

  std::int64_t rows_ = 0;
  std::vector<Column> columns_;
  std::vector<UnsupportedColumn> unsupported_;
  std::shared_ptr<Kept> kept_;  // the engine's own: what queries keep of the rows; null without columns
};

}  // namespace v0
}  // namespace skyrank
