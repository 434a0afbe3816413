#include "datasets/columnar/flat_column.hpp"

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "datasets/arrow/arrow_types.hpp"
#include "engine/checked_size.hpp"

namespace skyrank::datasets {
namespace {

using BufferPtr = std::shared_ptr<arrow::Buffer>;
using DataPtr = std::shared_ptr<arrow::ArrayData>;
using TypePtr = std::shared_ptr<arrow::DataType>;

constexpr std::int64_t kBatchRows = std::int64_t{1} << 14;

/// A batch of a column chunk: how many rows it has, and how many of these are not NULL.
struct Batch {
  std::int64_t rows = 0;
  std::int64_t values = 0;
};

/// The validity of a column in the making. There is no bitmap before the first NULL.
class Validity {
 public:
  Validity(std::int64_t rows, arrow::MemoryPool* pool) : rows_(rows), pool_(pool) {}

  void clear(std::int64_t row) {
    if (bits_ == nullptr) {
      PARQUET_ASSIGN_OR_THROW(bits_, arrow::AllocateBuffer(arrow::bit_util::BytesForBits(rows_), pool_));
      std::fill_n(bits_->mutable_data(), bits_->size(), std::uint8_t{0xff});
    }
    arrow::bit_util::ClearBit(bits_->mutable_data(), row);
    ++nulls_;
  }

  BufferPtr take() { return std::move(bits_); }
  std::int64_t nulls() const { return nulls_; }

 private:
  std::int64_t rows_;
  arrow::MemoryPool* pool_;
  BufferPtr bits_;
  std::int64_t nulls_ = 0;
};

/// Moves the values of a batch, which lie one after the other, to the places of the rows that have one; rows that are
/// NULL get 0.
template <class T>
void space_out(T* values, const Batch& batch, const std::vector<std::int16_t>& levels, std::int64_t first_row,
               Validity& validity) {
  std::int64_t from = batch.values;
  for (std::int64_t row = batch.rows; row-- > 0;) {
    const bool has_value = levels[static_cast<std::size_t>(row)] > 0;
    values[row] = has_value ? values[--from] : T{};
    if (!has_value) validity.clear(first_row + row);
  }
}

/// How many rows a reader has: so many, or at most so many where pages are left out.
struct RowCount {
  std::int64_t rows = 0;
  bool is_exact = true;
};

/// Reads all rows of a column chunk. read(rows, levels, first row) writes the values of the next rows, as Batch counts
/// them, from the first row's place on. A dictionary is left out.
template <class T, class Read>
DataPtr read_rows(parquet::ColumnReader& reader, const TypePtr& type, RowCount count, arrow::MemoryPool* pool,
                  const Read& read) {
  const std::string damage = "pages do not have the rows that the file's metadata names";
  const std::int64_t rows = count.rows;
  const auto bytes = static_cast<std::int64_t>(checked_multiply(rows, sizeof(T), "the size of a column"));
  BufferPtr buffer;
  PARQUET_ASSIGN_OR_THROW(buffer, arrow::AllocateBuffer(bytes, pool));
  auto* const values = reinterpret_cast<T*>(buffer->mutable_data());
  Validity validity(rows, pool);
  const bool has_levels = reader.descr()->max_definition_level() > 0;
  std::vector<std::int16_t> levels(static_cast<std::size_t>(has_levels ? kBatchRows : 0));
  std::int64_t row = 0;
  while (row < rows && (count.is_exact || reader.HasNext())) {
    const Batch batch = read(std::min(kBatchRows, rows - row), has_levels ? levels.data() : nullptr, values + row);
    if (batch.rows <= 0) throw parquet::ParquetException(damage);
    if (has_levels && batch.values < batch.rows) {
      const auto present = std::count(levels.begin(), levels.begin() + batch.rows, std::int16_t{1});
      if (present != batch.values) throw parquet::ParquetException(damage);
      space_out(values + row, batch, levels, row, validity);
    } else if (batch.values != batch.rows) {
      throw parquet::ParquetException(damage);
    }
    row += batch.rows;
  }
  if (reader.HasNext()) throw parquet::ParquetException(damage);
  const std::int64_t nulls = validity.nulls();
  return arrow::ArrayData::Make(type, row, {validity.take(), std::move(buffer)}, nulls);
}

template <class Type>
DataPtr read_numbers(parquet::ColumnReader& reader, const TypePtr& type, RowCount rows, arrow::MemoryPool* pool) {
  using T = typename Type::c_type;
  auto& typed = static_cast<parquet::TypedColumnReader<Type>&>(reader);
  return read_rows<T>(reader, type, rows, pool, [&](std::int64_t size, std::int16_t* levels, T* values) {
    Batch batch;
    batch.rows = typed.ReadBatch(size, levels, nullptr, values, &batch.values);
    return batch;
  });
}

/// The entries of a chunk's dictionary, which is the reader's.
template <class Type>
struct Entries {
  const typename Type::c_type* values = nullptr;
  std::int32_t count = 0;
};

template <class Type>
Entries<Type> entries_of(parquet::TypedColumnReader<Type>& reader) {
  Entries<Type> entries;
  std::int64_t none = 0;
  reader.ReadBatchWithDictionary(0, nullptr, nullptr, nullptr, &none, &entries.values, &entries.count);
  return entries;
}

using Strings = Entries<parquet::ByteArrayType>;

DataPtr copy_of(const Strings& entries, const TypePtr&, arrow::MemoryPool* pool) {
  arrow::StringBuilder builder(pool);
  PARQUET_THROW_NOT_OK(builder.Reserve(entries.count));
  for (std::int32_t i = 0; i < entries.count; ++i) {
    const parquet::ByteArray& entry = entries.values[i];
    PARQUET_THROW_NOT_OK(builder.Append(entry.ptr, static_cast<std::int32_t>(entry.len)));
  }
  std::shared_ptr<arrow::Array> strings;
  PARQUET_THROW_NOT_OK(builder.Finish(&strings));
  return strings->data();
}

template <class Type>
DataPtr copy_of(const Entries<Type>& entries, const TypePtr& type, arrow::MemoryPool* pool) {
  using T = typename Type::c_type;
  BufferPtr buffer;
  const auto bytes = static_cast<std::int64_t>(checked_multiply(entries.count, sizeof(T), "the size of a dictionary"));
  PARQUET_ASSIGN_OR_THROW(buffer, arrow::AllocateBuffer(bytes, pool));
  std::copy_n(entries.values, entries.count, reinterpret_cast<T*>(buffer->mutable_data()));
  return arrow::ArrayData::Make(type, entries.count, {nullptr, std::move(buffer)}, 0);
}

/// Reads indices into a dictionary as numbers of type T, which holds all of them.
template <class T, class Type>
DataPtr read_indices(parquet::TypedColumnReader<Type>& reader, const Entries<Type>& entries, const TypePtr& type,
                     RowCount rows, arrow::MemoryPool* pool) {
  std::vector<std::int32_t> indices(static_cast<std::size_t>(kBatchRows));
  return read_rows<T>(reader, type, rows, pool, [&](std::int64_t size, std::int16_t* levels, T* values) {
    Batch batch;
    batch.rows = reader.ReadBatchWithDictionary(size, levels, nullptr, indices.data(), &batch.values, nullptr, nullptr);
    std::uint32_t highest = 0;
    for (std::int64_t i = 0; i < batch.values; ++i) {
      const std::int32_t index = indices[static_cast<std::size_t>(i)];
      highest = std::max(highest, static_cast<std::uint32_t>(index));
      values[i] = static_cast<T>(index);
    }
    if (batch.values > 0 && highest >= static_cast<std::uint32_t>(entries.count)) {
      throw parquet::ParquetException("an index of a page is beyond its dictionary of " +
                                      std::to_string(entries.count) + " entries");
    }
    return batch;
  });
}

/// Reads a column of which all values are indices into the chunk's dictionary.
template <class T, class Type>
std::shared_ptr<arrow::Array> read_dictionary(parquet::TypedColumnReader<Type>& reader, const Entries<Type>& entries,
                                              const TypePtr& index, const TypePtr& values, RowCount rows,
                                              arrow::MemoryPool* pool) {
  DataPtr data = read_indices<T>(reader, entries, arrow::dictionary(index, values), rows, pool);
  data->dictionary = copy_of(entries, values, pool);
  return arrow::MakeArray(data);
}

using StringsReader = parquet::TypedColumnReader<parquet::ByteArrayType>;

std::shared_ptr<arrow::Array> read_strings(StringsReader& reader, RowCount rows, arrow::MemoryPool* pool) {
  const Strings entries = entries_of(reader);
  const auto with_index = [&]<class T>(const TypePtr& index, T) {
    return read_dictionary<T>(reader, entries, index, arrow::utf8(), rows, pool);
  };
  if (entries.count <= std::numeric_limits<std::int8_t>::max()) return with_index(arrow::int8(), std::int8_t{});
  if (entries.count <= std::numeric_limits<std::int16_t>::max()) return with_index(arrow::int16(), std::int16_t{});
  return with_index(arrow::int32(), std::int32_t{});
}

bool is_text(const arrow::DataType& type, const parquet::ColumnDescriptor& column) {
  const arrow::Type::type values = type_of_values(type).id();
  return (arrow::is_string(values) || values == arrow::Type::STRING_VIEW) &&
         column.physical_type() == parquet::Type::BYTE_ARRAY;
}

/// Calls f with a value of the physical type in which numbers are stored.
template <class F>
auto with_number_type(const parquet::ColumnDescriptor& column, const F& f) {
  switch (column.physical_type()) {
    case parquet::Type::INT32: return f(parquet::Int32Type{});
    case parquet::Type::INT64: return f(parquet::Int64Type{});
    case parquet::Type::FLOAT: return f(parquet::FloatType{});
    default: return f(parquet::DoubleType{});
  }
}

DataPtr read_numbers(parquet::RowGroupReader& group, int leaf, const TypePtr& type, RowCount rows,
                     arrow::MemoryPool* pool) {
  const auto reader = group.Column(leaf);
  return with_number_type(*reader->descr(),
                          [&]<class Type>(Type) { return read_numbers<Type>(*reader, type, rows, pool); });
}

/// Returns true for a column without lists and structs whose NULLs are its own.
bool is_flat(const parquet::ColumnDescriptor& column) {
  return column.max_repetition_level() == 0 && column.max_definition_level() <= 1;
}

/// Returns a reader of indices into a chunk's dictionary; null where not all values are such indices.
std::shared_ptr<parquet::ColumnReader> open_indices(parquet::RowGroupReader& group, int leaf) {
  auto reader = group.ColumnWithExposeEncoding(leaf, parquet::ExposedEncoding::DICTIONARY);
  return reader->GetExposedEncoding() == parquet::ExposedEncoding::DICTIONARY ? std::move(reader) : nullptr;
}

}  // namespace

bool is_stored_as(const arrow::DataType& type, const parquet::ColumnDescriptor& column) {
  using Unit = parquet::LogicalType::TimeUnit;
  switch (type.id()) {
    case arrow::Type::INT32:
    case arrow::Type::UINT32:
    case arrow::Type::DATE32: return column.physical_type() == parquet::Type::INT32;
    case arrow::Type::INT64:
    case arrow::Type::UINT64: return column.physical_type() == parquet::Type::INT64;
    case arrow::Type::FLOAT: return column.physical_type() == parquet::Type::FLOAT;
    case arrow::Type::DOUBLE: return column.physical_type() == parquet::Type::DOUBLE;
    case arrow::Type::TIMESTAMP: break;
    default: return false;
  }
  if (column.physical_type() != parquet::Type::INT64 || !column.logical_type()->is_timestamp()) return false;
  const auto unit = static_cast<const parquet::TimestampLogicalType&>(*column.logical_type()).time_unit();
  switch (static_cast<const arrow::TimestampType&>(type).unit()) {
    case arrow::TimeUnit::MILLI: return unit == Unit::MILLIS;
    case arrow::TimeUnit::MICRO: return unit == Unit::MICROS;
    case arrow::TimeUnit::NANO: return unit == Unit::NANOS;
    default: return false;
  }
}

std::shared_ptr<arrow::Array> read_flat_numbers(parquet::RowGroupReader& group, int leaf, const TypePtr& type,
                                                arrow::MemoryPool* pool) {
  return arrow::MakeArray(read_numbers(group, leaf, type, {group.metadata()->num_rows(), /*is_exact=*/false}, pool));
}

std::shared_ptr<arrow::Array> read_flat_column(parquet::RowGroupReader& group, int leaf, const TypePtr& type,
                                               arrow::MemoryPool* pool) {
  const parquet::ColumnDescriptor& column = *group.metadata()->schema()->Column(leaf);
  const std::int64_t rows = group.metadata()->num_rows();
  if (!is_flat(column) || rows < 0) return nullptr;
  if (is_text(*type, column)) {
    const auto reader = open_indices(group, leaf);
    if (reader == nullptr) return nullptr;
    return read_strings(static_cast<StringsReader&>(*reader), {rows}, pool);
  }
  if (!is_stored_as(*type, column)) return nullptr;
  return arrow::MakeArray(read_numbers(group, leaf, type, {rows}, pool));
}

std::shared_ptr<arrow::Array> read_flat_codes(parquet::RowGroupReader& group, int leaf, const TypePtr& type,
                                              arrow::MemoryPool* pool) {
  const parquet::ColumnDescriptor& column = *group.metadata()->schema()->Column(leaf);
  const std::int64_t rows = group.metadata()->num_rows();
  const bool text = is_text(*type, column);
  if (!is_flat(column) || rows < 0 || (!text && !is_stored_as(*type, column))) return nullptr;
  const auto reader = open_indices(group, leaf);
  if (reader == nullptr) return nullptr;
  const auto read = [&]<class Type>(Type, const TypePtr& values) {
    auto& typed = static_cast<parquet::TypedColumnReader<Type>&>(*reader);
    return read_dictionary<std::int32_t>(typed, entries_of(typed), arrow::int32(), values, {rows}, pool);
  };
  if (text) return read(parquet::ByteArrayType{}, arrow::utf8());
  return with_number_type(column, [&](auto stored) { return read(stored, type); });
}

std::optional<std::vector<std::string>> dictionary_texts(parquet::RowGroupReader& group, int leaf) {
  const auto reader = open_indices(group, leaf);
  if (reader == nullptr) return std::nullopt;
  const Strings entries = entries_of(static_cast<StringsReader&>(*reader));
  std::vector<std::string> texts;
  for (std::int32_t i = 0; i < entries.count; ++i) {
    texts.emplace_back(reinterpret_cast<const char*>(entries.values[i].ptr), entries.values[i].len);
  }
  return texts;
}

}  // namespace skyrank::datasets
