#include "datasets/arrow/arrow_table.hpp"

#include <arrow/array.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/concatenate.h>
#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>
#include <arrow/chunked_array.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <limits>
#include <new>
#include <skyrank/arrow.hpp>
#include <skyrank/error.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "datasets/arrow/arrow_threads.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/input/input.hpp"
#include "engine/column_traits.hpp"

namespace skyrank::datasets {
namespace {

using ValuesPtr = std::shared_ptr<arrow::ChunkedArray>;

// 32-bit offsets cannot address more characters than this in one array.
bool needs_large_offsets(const arrow::ChunkedArray& values) {
  if (values.type()->id() != arrow::Type::STRING) return false;
  std::int64_t bytes = 0;
  for (const auto& chunk : values.chunks()) {
    bytes += static_cast<const arrow::StringArray&>(*chunk).total_values_length();
  }
  return bytes > std::numeric_limits<std::int32_t>::max();
}

// Names travel through the C data interface as C strings.
void refuse_nul(const std::string& column, const std::string& name) {
  if (column.find('\0') != std::string::npos) throw DataError(name + ": a column name holds a NUL character");
}

using OrderPtr = std::shared_ptr<const exec::Categories>;

template <class Array>
std::vector<std::string> texts_of(const arrow::Array& entries) {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < entries.length(); ++i) {
    if (entries.IsValid(i)) texts.emplace_back(static_cast<const Array&>(entries).GetView(i));
  }
  return texts;
}

OrderPtr order_of_entries(const arrow::Array& entries, const std::string& name, const std::string& column) {
  return ordered_categories(dictionary_entries(entries), name, column);
}

/// Returns the indices of a chunk into the texts of an order.
std::shared_ptr<arrow::Array> with_order(const arrow::DictionaryArray& chunk, const exec::Categories& order,
                                         const std::shared_ptr<arrow::Array>& entries, const std::string& name,
                                         const std::string& column) {
  const OrderPtr own = order_of_entries(*chunk.dictionary(), name, column);
  std::vector<std::int32_t> places;
  std::size_t next = 0;
  for (std::int64_t i = 0; i < chunk.dictionary()->length(); ++i) {
    const bool is_null = chunk.dictionary()->IsNull(i);  // such rows are NULL themselves
    places.push_back(is_null ? 0 : static_cast<std::int32_t>(order.rank(own->texts()[next++]).value_or(0)));
  }
  auto moved = chunk.Transpose(arrow::dictionary(arrow::int32(), entries->type(), true), entries, places.data());
  check(moved.status(), name, "column '" + column + "'");
  return *std::move(moved);
}

/// Gives all chunks of an ordered dictionary one dictionary, in an order that agrees with those of all chunks.
ValuesPtr with_one_order(const ValuesPtr& values, const std::string& name, const std::string& column) {
  const auto dictionary_of = [&](int chunk) -> const arrow::DictionaryArray& {
    return static_cast<const arrow::DictionaryArray&>(*values->chunk(chunk));
  };
  OrderPtr order;
  bool same = true;
  for (int i = 0; i < values->num_chunks(); ++i) {
    same = same && dictionary_of(i).dictionary()->Equals(dictionary_of(0).dictionary());
    if (same && i > 0) continue;
    const OrderPtr next = order_of_entries(*dictionary_of(i).dictionary(), name, column);
    order = order == nullptr ? next : united_categories(order, next, name, column);
  }
  if (same) return values;
  arrow::StringBuilder builder;
  check(builder.AppendValues(order->texts()), name, "column '" + column + "'");
  const auto entries = builder.Finish();
  check(entries.status(), name, "column '" + column + "'");
  arrow::ArrayVector chunks;
  for (int i = 0; i < values->num_chunks(); ++i) {
    chunks.push_back(with_order(dictionary_of(i), *order, *entries, name, column));
  }
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks));
}

std::shared_ptr<arrow::Array> one_chunk(ValuesPtr values, const std::string& name, const std::string& column) {
  // A column without any value has no type; numbers can be compared and ranked.
  if (values->type()->id() == arrow::Type::NA) values = convert(values, arrow::float64(), name, column);
  if (values->num_chunks() == 1) return values->chunk(0);
  if (is_ordered_dictionary(*values->type()) && values->num_chunks() > 1) values = with_one_order(values, name, column);
  if (needs_large_offsets(*values)) values = convert(values, arrow::large_utf8(), name, column);
  if (values->num_chunks() == 0) {
    auto empty = arrow::MakeEmptyArray(values->type());
    check(empty.status(), name, "column '" + column + "'");
    return *std::move(empty);
  }
  auto joined = arrow::Concatenate(values->chunks());
  if (!joined.ok() && values->type()->id() == arrow::Type::DICTIONARY) {
    // More distinct strings in all chunks together than the index type can number.
    return one_chunk(convert(values, arrow::large_utf8(), name, column), name, column);
  }
  check(joined.status(), name, "column '" + column + "'");
  return *std::move(joined);
}

}  // namespace

std::vector<std::string> dictionary_entries(const arrow::Array& entries) {
  const bool large = entries.type_id() == arrow::Type::LARGE_STRING;
  return large ? texts_of<arrow::LargeStringArray>(entries) : texts_of<arrow::StringArray>(entries);
}

std::shared_ptr<const exec::Categories> ordered_categories(std::vector<std::string> texts, const std::string& name,
                                                           const std::string& column) {
  try {
    return std::make_shared<const exec::Categories>(std::move(texts));
  } catch (const std::invalid_argument& error) {
    throw DataError(name + ": damaged: column '" + column + "' is an ordered dictionary of which " + error.what());
  }
}

std::shared_ptr<const exec::Categories> united_categories(const std::shared_ptr<const exec::Categories>& a,
                                                          const std::shared_ptr<const exec::Categories>& b,
                                                          const std::string& name, const std::string& column) {
  auto order = exec::united(a, b);
  if (order != nullptr) return order;
  throw DataError(name + ": column '" + column +
                  "' has parts whose ordered categories contradict each other; write all parts with one order");
}

Table to_skyrank(std::shared_ptr<arrow::Table> values, const std::string& name) {
  const std::int64_t rows = values->num_rows();
  const std::vector<std::string> names = values->ColumnNames();
  if (names.empty()) return Table::with_rows(rows);
  std::vector<ValuesPtr> columns = values->columns();
  values.reset();
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    refuse_nul(names[i], name);
    arrays.push_back(one_chunk(std::exchange(columns[i], nullptr), name, names[i]));
    fields.push_back(arrow::field(names[i], arrays.back()->type()));
  }
  const auto batch = arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows, std::move(arrays));
  ::ArrowArray array{};
  ::ArrowSchema schema{};
  check(arrow::ExportRecordBatch(*batch, &array, &schema), name, "table");
  return import_arrow(&array, &schema);
}

std::shared_ptr<arrow::RecordBatch> to_arrow(const Table& table) {
  ::ArrowArray array{};
  ::ArrowSchema schema{};
  export_arrow(table, &array, &schema);
  auto batch = arrow::ImportRecordBatch(&array, &schema);
  check(batch.status(), "table", "export");
  return *std::move(batch);
}

std::vector<arrow::ArrayVector> join_chunks(std::vector<arrow::ArrayVector> columns, bool threads) {
  // Shared with the tasks, which a pool without memory may leave behind.
  const auto shared = std::make_shared<std::vector<arrow::ArrayVector>>(std::move(columns));
  run_each(threads, shared->size(), [shared](std::size_t column) {
    arrow::ArrayVector& chunks = (*shared)[column];
    if (chunks.size() < 2) return;
    try {
      auto whole = arrow::Concatenate(chunks);
      if (whole.ok()) chunks = {*std::move(whole)};
    } catch (const std::bad_alloc&) {
    }
  });
  return *shared;
}

}  // namespace skyrank::datasets
