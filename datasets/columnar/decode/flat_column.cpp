#include "datasets/columnar/decode/flat_column.hpp"

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>
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
#include "datasets/columnar/decode/text_codes.hpp"
#include "engine/checked_size.hpp"

namespace skyrank::datasets {
namespace {

using BufferPtr = std::shared_ptr<arrow::Buffer>;
using DataPtr = std::shared_ptr<arrow::ArrayData>;
using TypePtr = std::shared_ptr<arrow::DataType>;

constexpr std::int64_t kBatchRows = std::int64_t{1} << 14;

/// A batch of a column chunk: how many rows it has, and how many of these are not NULL.
struct Batch {
  static constexpr std::int64_t kEnd = -1;  ///< instead of rows: no more are wanted

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

/// Reads rows of a column chunk to `values`, all unless `read` wants no more, and returns how many it read. read(rows,
/// levels, place) writes the values of the next rows, as Batch counts them, from the place on.
template <class T, class Read>
std::int64_t read_rows(parquet::ColumnReader& reader, RowCount count, T* values, Validity& validity, const Read& read) {
  const std::string damage = "pages do not have the rows that the file's metadata names";
  const std::int64_t rows = count.rows;
  const bool has_levels = reader.descr()->max_definition_level() > 0;
  std::vector<std::int16_t> levels(static_cast<std::size_t>(has_levels ? kBatchRows : 0));
  std::int64_t row = 0;
  while (row < rows && (count.is_exact || reader.HasNext())) {
    const Batch batch = read(std::min(kBatchRows, rows - row), has_levels ? levels.data() : nullptr, values + row);
    if (batch.rows == Batch::kEnd) return row;
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
  return row;
}

BufferPtr memory_for(std::int64_t values, std::size_t width, arrow::MemoryPool* pool) {
  const auto bytes = static_cast<std::int64_t>(checked_multiply(values, width, "the size of a column"));
  BufferPtr buffer;
  PARQUET_ASSIGN_OR_THROW(buffer, arrow::AllocateBuffer(bytes, pool));
  return buffer;
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

/// Reads the numbers of a column chunk to `values`, and returns how many there were.
std::int64_t read_numbers(parquet::RowGroupReader& group, int leaf, RowCount rows, std::uint8_t* values,
                          Validity& validity) {
  const auto reader = group.Column(leaf);
  return with_number_type(*reader->descr(), [&]<class Type>(Type) {
    auto& typed = static_cast<parquet::TypedColumnReader<Type>&>(*reader);
    using T = typename Type::c_type;
    return read_rows(*reader, rows, reinterpret_cast<T*>(values), validity,
                     [&](std::int64_t size, std::int16_t* levels, T* place) {
                       Batch batch;
                       batch.rows = typed.ReadBatch(size, levels, nullptr, place, &batch.values);
                       return batch;
                     });
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
                     std::int64_t rows, arrow::MemoryPool* pool) {
  std::vector<std::int32_t> indices(static_cast<std::size_t>(kBatchRows));
  BufferPtr buffer = memory_for(rows, sizeof(T), pool);
  Validity validity(rows, pool);
  const auto read = [&](std::int64_t size, std::int16_t* levels, T* values) {
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
  };
  read_rows(reader, {rows}, reinterpret_cast<T*>(buffer->mutable_data()), validity, read);
  const std::int64_t nulls = validity.nulls();
  return arrow::ArrayData::Make(type, rows, {validity.take(), std::move(buffer)}, nulls);
}

/// Reads a column of which all values are indices into the chunk's dictionary.
template <class T, class Type>
std::shared_ptr<arrow::Array> read_dictionary(parquet::TypedColumnReader<Type>& reader, const Entries<Type>& entries,
                                              const TypePtr& index, const TypePtr& values, std::int64_t rows,
                                              arrow::MemoryPool* pool) {
  DataPtr data = read_indices<T>(reader, entries, arrow::dictionary(index, values), rows, pool);
  data->dictionary = copy_of(entries, values, pool);
  return arrow::MakeArray(data);
}

using StringsReader = parquet::TypedColumnReader<parquet::ByteArrayType>;

std::shared_ptr<arrow::Array> read_strings(StringsReader& reader, std::int64_t rows, arrow::MemoryPool* pool) {
  const Strings entries = entries_of(reader);
  const auto with_index = [&]<class T>(const TypePtr& index, T) {
    return read_dictionary<T>(reader, entries, index, arrow::utf8(), rows, pool);
  };
  if (entries.count <= std::numeric_limits<std::int8_t>::max()) return with_index(arrow::int8(), std::int8_t{});
  if (entries.count <= std::numeric_limits<std::int16_t>::max()) return with_index(arrow::int16(), std::int16_t{});
  return with_index(arrow::int32(), std::int32_t{});
}

/// Returns true for a column without lists and structs whose NULLs are its own.
bool is_flat(const parquet::ColumnDescriptor& column) {
  return column.max_repetition_level() == 0 && column.max_definition_level() <= 1;
}

/// Returns true if values of the physical type of Parquet are those of the type of Arrow, bit by bit.
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

std::size_t width_of(const arrow::DataType& type) { return static_cast<std::size_t>(type.byte_width()); }

/// Lets readers expose indices that the footer does not promise: they throw a ParquetException at a page of values.
struct AnyReader : parquet::ColumnReader {
  static void expose_indices(parquet::ColumnReader& reader) {
    (reader.*(&AnyReader::SetExposedEncoding))(parquet::ExposedEncoding::DICTIONARY);
  }
};

/// Returns what read(reader) makes of a chunk's indices into its dictionary; an empty value where not all values are
/// such indices, which the footer may leave to the pages to tell.
template <class Read>
auto read_if_indices(parquet::RowGroupReader& group, int leaf, const Read& read)
    -> decltype(read(*group.Column(leaf))) {
  const auto promised = group.ColumnWithExposeEncoding(leaf, parquet::ExposedEncoding::DICTIONARY);
  if (promised->GetExposedEncoding() == parquet::ExposedEncoding::DICTIONARY) return read(*promised);
  if (!may_have_indices(*group.metadata()->ColumnChunk(leaf))) return {};
  const auto reader = group.Column(leaf);
  AnyReader::expose_indices(*reader);
  try {
    return read(*reader);
  } catch (const parquet::ParquetStatusException&) {  // no memory, or a failed read
    throw;
  } catch (const parquet::ParquetException&) {
    return {};
  }
}

}  // namespace

bool is_flat_number(const arrow::DataType& type, const parquet::ColumnDescriptor& column) {
  return is_flat(column) && is_stored_as(type, column);
}

bool is_flat_text(const arrow::DataType& type, const parquet::ColumnDescriptor& column) {
  const arrow::Type::type values = type_of_values(type).id();
  return is_flat(column) && (arrow::is_string(values) || values == arrow::Type::STRING_VIEW) &&
         column.physical_type() == parquet::Type::BYTE_ARRAY;
}

std::shared_ptr<arrow::Array> read_kept_numbers(parquet::RowGroupReader& group, int leaf, const TypePtr& type,
                                                arrow::MemoryPool* pool) {
  const std::int64_t most = group.metadata()->num_rows();
  const BufferPtr values = memory_for(most, width_of(*type), pool);
  Validity validity(most, pool);
  const std::int64_t rows = read_numbers(group, leaf, {most, /*is_exact=*/false}, values->mutable_data(), validity);
  const std::int64_t nulls = validity.nulls();
  return arrow::MakeArray(arrow::ArrayData::Make(type, rows, {validity.take(), values}, nulls));
}

FlatNumbers::FlatNumbers(TypePtr type, const std::vector<std::int64_t>& rows, arrow::MemoryPool* pool)
    : type_(std::move(type)), pool_(pool) {
  for (const std::int64_t part : rows) {
    parts_.push_back({.begin = rows_, .rows = part, .validity = nullptr, .nulls = 0});
    rows_ = static_cast<std::int64_t>(checked_add(rows_, part, "the number of rows"));
  }
  values_ = memory_for(rows_, width_of(*type_), pool_);
}

void FlatNumbers::read(std::size_t number, parquet::RowGroupReader& group, int leaf) {
  Part& part = parts_[number];
  Validity validity(part.rows, pool_);
  std::uint8_t* const place = values_->mutable_data() + part.begin * static_cast<std::int64_t>(width_of(*type_));
  read_numbers(group, leaf, {part.rows}, place, validity);
  part.nulls = validity.nulls();
  part.validity = validity.take();
}

std::shared_ptr<arrow::Array> FlatNumbers::finish() {
  std::int64_t nulls = 0;
  for (const Part& part : parts_) nulls += part.nulls;
  const BufferPtr validity = nulls > 0 ? joined_validity() : nullptr;
  return arrow::MakeArray(arrow::ArrayData::Make(type_, rows_, {validity, std::move(values_)}, nulls));
}

BufferPtr FlatNumbers::joined_validity() const {
  if (parts_.size() == 1) return parts_.front().validity;
  BufferPtr bits;
  PARQUET_ASSIGN_OR_THROW(bits, arrow::AllocateEmptyBitmap(rows_, pool_));
  for (const Part& part : parts_) {
    if (part.validity == nullptr) {
      arrow::bit_util::SetBitsTo(bits->mutable_data(), part.begin, part.rows, true);
    } else {
      arrow::internal::CopyBitmap(part.validity->data(), 0, part.rows, bits->mutable_data(), part.begin);
    }
  }
  return bits;
}

bool may_have_indices(const parquet::ColumnChunkMetaData& chunk) {
  return chunk.has_dictionary_page() && chunk.encoding_stats().empty();
}

std::shared_ptr<arrow::Array> read_flat_strings(parquet::RowGroupReader& group, int leaf, std::int64_t rows,
                                                arrow::MemoryPool* pool) {
  if (rows < 0) return nullptr;
  return read_if_indices(group, leaf, [&](parquet::ColumnReader& reader) {
    return read_strings(static_cast<StringsReader&>(reader), rows, pool);
  });
}

std::shared_ptr<arrow::Array> code_flat_strings(parquet::RowGroupReader& group, int leaf, std::int64_t rows,
                                                std::int64_t few, arrow::MemoryPool* pool) {
  if (rows < 0) return nullptr;
  // Bytes of one array of strings have to be fewer, even if all are different.
  const auto bytes = group.metadata()->ColumnChunk(leaf)->total_uncompressed_size();
  if (bytes > std::numeric_limits<std::int32_t>::max()) return nullptr;
  constexpr std::int64_t kFirstRows = 1024;
  constexpr std::int64_t kMinRowsOfText = 4;
  const auto column = group.Column(leaf);
  auto& reader = static_cast<StringsReader&>(*column);
  std::vector<parquet::ByteArray> texts(static_cast<std::size_t>(kBatchRows));
  TextCodes codes(pool);
  BufferPtr buffer = memory_for(rows, sizeof(std::int32_t), pool);
  Validity validity(rows, pool);
  std::int64_t read_so_far = 0;
  const auto read = [&](std::int64_t size, std::int16_t* levels, std::int32_t* values) {
    Batch batch;
    if (codes.size() > few + read_so_far / kMinRowsOfText) return Batch{.rows = Batch::kEnd};
    size = std::min(size, kFirstRows + read_so_far);
    batch.rows = reader.ReadBatch(size, levels, nullptr, texts.data(), &batch.values);
    for (std::int64_t i = 0; i < batch.values; ++i) {
      const parquet::ByteArray& text = texts[static_cast<std::size_t>(i)];
      values[i] = codes.code_of({reinterpret_cast<const char*>(text.ptr), text.len});
    }
    read_so_far += batch.rows;
    return batch;
  };
  if (read_rows(reader, {rows}, reinterpret_cast<std::int32_t*>(buffer->mutable_data()), validity, read) < rows) {
    return nullptr;
  }
  const std::int64_t nulls = validity.nulls();
  const DataPtr data = arrow::ArrayData::Make(arrow::dictionary(arrow::int32(), arrow::utf8()), rows,
                                              {validity.take(), std::move(buffer)}, nulls);
  data->dictionary = codes.finish()->data();
  return arrow::MakeArray(data);
}

std::shared_ptr<arrow::Array> read_flat_codes(parquet::RowGroupReader& group, int leaf, const TypePtr& type,
                                              arrow::MemoryPool* pool) {
  const parquet::ColumnDescriptor& column = *group.metadata()->schema()->Column(leaf);
  const std::int64_t rows = group.metadata()->num_rows();
  const bool text = is_flat_text(*type, column);
  if (rows < 0 || (!text && !is_flat_number(*type, column))) return nullptr;
  const auto coded = read_if_indices(group, leaf, [&](parquet::ColumnReader& reader) {
    const auto read = [&]<class Type>(Type, const TypePtr& values) {
      auto& typed = static_cast<parquet::TypedColumnReader<Type>&>(reader);
      return read_dictionary<std::int32_t>(typed, entries_of(typed), arrow::int32(), values, rows, pool);
    };
    if (text) return read(parquet::ByteArrayType{}, arrow::utf8());
    return with_number_type(column, [&](auto stored) { return read(stored, type); });
  });
  return coded != nullptr || !text ? coded : code_flat_strings(group, leaf, rows, kFewTexts, pool);
}

std::optional<std::vector<std::string>> dictionary_texts(parquet::RowGroupReader& group, int leaf) {
  const auto reader = group.ColumnWithExposeEncoding(leaf, parquet::ExposedEncoding::DICTIONARY);
  if (reader->GetExposedEncoding() != parquet::ExposedEncoding::DICTIONARY) return std::nullopt;
  const Strings entries = entries_of(static_cast<StringsReader&>(*reader));
  std::vector<std::string> texts;
  for (std::int32_t i = 0; i < entries.count; ++i) {
    texts.emplace_back(reinterpret_cast<const char*>(entries.values[i].ptr), entries.values[i].len);
  }
  return texts;
}

}  // namespace skyrank::datasets
