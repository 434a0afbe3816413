#include "engine/standing/saved_rows.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include <skyrank/partial.hpp>

#include "engine/checked_size.hpp"
#include "engine/column_traits.hpp"
#include "engine/operators/gather/column_buffers.hpp"
#include "engine/operators/gather/gather.hpp"
#include "kernels/common/memory.hpp"

namespace skyrank::exec {
namespace {

constexpr std::int64_t kBitsPerByte = 8;
constexpr std::size_t kRowsAtOnce = std::size_t{1} << 13;  // of a column, in a buffer

std::string words_of_window(const StandingWindow& window) {
  if (const auto* rows = std::get_if<RowWindow>(&window)) return "the last " + std::to_string(rows->rows) + " rows";
  if (const auto* time = std::get_if<TimeWindow>(&window)) {
    return "the last " + std::to_string(time->last.count()) + " ns by '" + time->by + "'";
  }
  return "none";
}

std::string words_of_column(const Column& column) {
  std::string text = "'" + column.name() + "' " + to_string(column.type());
  const auto order = order_of(column.data());
  if (order == nullptr) return text;
  text += " in the order";
  for (const std::string& one : order->texts()) text += " '" + one + "'";
  return text;
}

/// Calls f(values) with a column of each piece whose values lie side by side.
void for_each_piece(const std::vector<SavedPiece>& pieces, std::size_t column,
                    const std::function<void(const ColumnData&)>& f) {
  for (const SavedPiece& piece : pieces) f(gather_all(piece.columns.column(static_cast<int>(column))).data());
}

void write_strings(SavedWriter& file, const std::vector<SavedPiece>& pieces, std::size_t column) {
  std::vector<std::uint64_t> lengths;
  for_each_piece(pieces, column, [&](const ColumnData& data) {
    lengths.clear();
    for (RowId row = 0; row < data.length; ++row) {
      lengths.push_back(data.validity(row) ? data.string_at(row).size() : 0);
    }
    file.numbers(std::span<const std::uint64_t>(lengths));
  });
  for_each_piece(pieces, column, [&](const ColumnData& data) {
    for (RowId row = 0; row < data.length; ++row) {
      if (data.validity(row)) file.bytes(std::as_bytes(std::span(data.string_at(row))));
    }
  });
}

void write_column(SavedWriter& file, const std::vector<SavedPiece>& pieces, std::size_t index, const Column& column) {
  file.text(column.name());
  file.text(to_string(column.type()));
  const bool has_nulls = std::ranges::any_of(
      pieces, [&](const SavedPiece& piece) { return piece.columns.column(static_cast<int>(index)).may_have_nulls(); });
  file.number(std::uint8_t{has_nulls});
  std::vector<std::uint8_t> valid;
  for (const SavedPiece& piece : pieces) {
    if (!has_nulls) break;
    const Column& values = piece.columns.column(static_cast<int>(index));
    valid.clear();
    for (RowId row = 0; row < values.size(); ++row) valid.push_back(values.is_null(row) ? 0 : 1);
    file.numbers(std::span<const std::uint8_t>(valid));
  }
  if (column.type().type == Type::string) return write_strings(file, pieces, index);
  const auto width = static_cast<std::size_t>(width_in_bytes(column.type().type));
  for_each_piece(pieces, index, [&](const ColumnData& data) {
    const auto* const values = static_cast<const std::byte*>(data.values);
    file.bytes(std::span(values, static_cast<std::size_t>(data.length) * width));
  });
}

/// Memory of a column that is read, which counts for as long as it lives.
struct SavedColumn {
  kernels::Charge charge;
  ColumnBuffers buffers;
};

/// Reads the columns of a file.
class ColumnReader {
 public:
  ColumnReader(SavedReader& file, const std::vector<RowId>& ids) : file_(file), ids_(ids) {}

  /// Reads a column, which must be like `expected`.
  Column read(const Column& expected) {
    what_ = "column '" + expected.name() + "'";
    const std::string name = file_.text("the name of a column");
    const std::string type = file_.text("the type of a column");
    if (name != expected.name() || type != to_string(expected.type())) {
      file_.damaged("it has the column '" + name + "' (" + type + ") in place of '" + expected.name() + "' (" +
                    to_string(expected.type()) + ")");
    }
    memory_ = std::make_shared<SavedColumn>();
    read_validity();
    if (expected.type().type == Type::string) {
      read_strings();
    } else {
      read_numbers(expected.type());
    }
    const std::shared_ptr<const ColumnBuffers> buffers(memory_, &memory_->buffers);
    return with_traits(column_of(expected.name(), expected.type(), std::ssize(ids_), buffers),
                       traits_of(expected.data()));
  }

 private:
  std::string at_row(std::size_t i) const { return "the value of row " + std::to_string(ids_[i]) + " in " + what_; }

  /// Makes memory for bytes that the rest of the file has.
  void allocate(std::size_t bytes) {
    if (bytes > file_.left()) file_.damaged("the values of " + what_ + " would end behind it");
    memory_->charge.add(bytes);
    memory_->buffers.values.resize(checked_count(bytes, file_.left(), what_));
  }

  void read_validity() {
    const auto has_nulls = file_.number<std::uint8_t>(what_);
    if (has_nulls > 1) file_.damaged("the mark of NULLs of " + what_ + " is neither 0 nor 1");
    if (has_nulls == 0) return;
    const std::size_t rows = ids_.size();
    if (rows > file_.left()) file_.damaged("the NULLs of " + what_ + " would end behind it");
    const std::size_t bytes = (rows + kBitsPerByte - 1) / kBitsPerByte;
    memory_->charge.add(bytes);
    memory_->buffers.valid.resize(checked_count(bytes, file_.left(), what_));
    std::vector<std::uint8_t> valid;
    for (std::size_t i = 0; i < rows; ++i) {
      if (i % kRowsAtOnce == 0) {
        valid.resize(std::min(kRowsAtOnce, rows - i));
        file_.bytes(std::as_writable_bytes(std::span(valid)), "the NULLs of " + what_);
      }
      const std::uint8_t is_valid = valid[i % kRowsAtOnce];
      if (is_valid > 1) file_.damaged(at_row(i) + " is neither there nor NULL");
      std::uint8_t& bits = memory_->buffers.valid[i / kBitsPerByte];
      bits = static_cast<std::uint8_t>(bits | (is_valid << (i % kBitsPerByte)));
    }
  }

  void read_numbers(DataType type) {
    const std::size_t bytes =
        checked_multiply(ids_.size(), static_cast<std::size_t>(width_in_bytes(type.type)), "the values of " + what_);
    allocate(bytes);
    file_.bytes(memory_->buffers.values, "the values of " + what_);
    if (type.type != Type::boolean) return;
    for (std::size_t i = 0; i < bytes; ++i) {
      if (memory_->buffers.values[i] > std::byte{1}) file_.damaged(at_row(i) + " is neither true nor false");
    }
  }

  void read_strings() {
    const std::size_t rows = ids_.size();
    if (rows > file_.left() / sizeof(std::uint64_t)) file_.damaged("the lengths of " + what_ + " would end behind it");
    memory_->charge.add((rows + 1) * sizeof(std::int64_t));
    memory_->buffers.offsets64.resize(checked_add(rows, 1, what_));
    std::size_t end = 0;
    std::vector<std::uint64_t> lengths;
    for (std::size_t i = 0; i < rows; ++i) {
      if (i % kRowsAtOnce == 0) {
        lengths.resize(std::min(kRowsAtOnce, rows - i));
        file_.bytes(std::as_writable_bytes(std::span(lengths)), "the lengths of " + what_);
      }
      const std::uint64_t length = lengths[i % kRowsAtOnce];
      if (length > file_.left() - std::min<std::uint64_t>(end, file_.left())) {
        file_.damaged(at_row(i) + " would end behind it");
      }
      end += checked_count(length, file_.left(), at_row(i));
      memory_->buffers.offsets64[i + 1] = static_cast<std::int64_t>(end);
    }
    allocate(end);
    file_.bytes(memory_->buffers.values, "the characters of " + what_);
  }

  SavedReader& file_;
  const std::vector<RowId>& ids_;
  std::string what_;
  std::shared_ptr<SavedColumn> memory_;
};

void read_ids(SavedReader& file, SavedRows& rows) {
  const std::size_t n = file.count(sizeof(RowId), "the number of rows");
  rows.ids.resize(n);
  file.bytes(std::as_writable_bytes(std::span(rows.ids)), "the ids of rows");
  RowId before = -1;
  for (const RowId id : rows.ids) {
    if (id <= before) {
      file.damaged("the id " + std::to_string(id) + (before < 0 ? "" : " follows the id " + std::to_string(before)) +
                   "; ids ascend from 0");
    }
    before = id;
  }
  if (before < rows.numbers.next_id) return;
  file.damaged("the id " + std::to_string(before) + " is not below the next one, " +
               std::to_string(rows.numbers.next_id));
}

void read_times(SavedReader& file, SavedRows& rows) {
  if (rows.ids.size() > file.left() / sizeof(Int128)) file.damaged("the times of rows would end behind it");
  rows.times.resize(rows.ids.size());
  file.bytes(std::as_writable_bytes(std::span(rows.times)), "the times of rows");
  for (std::size_t i = 0; i < rows.times.size(); ++i) {
    if (rows.times[i] >= kNoTime && rows.times[i] <= rows.numbers.greatest_time) continue;
    file.damaged("the time of row " + std::to_string(rows.ids[i]) + " is later than the greatest time");
  }
}

void read_keys(SavedReader& file, std::size_t dims, SavedRows& rows) {
  const auto stated = file.number<std::uint64_t>("the number of keys");
  if (stated != dims) {
    file.damaged("rows have " + std::to_string(stated) + " keys, and the query " + std::to_string(dims));
  }
  const std::size_t n = checked_multiply(rows.ids.size(), dims, "the number of keys");
  if (n > file.left() / sizeof(std::uint64_t)) file.damaged("the keys of rows would end behind it");
  rows.keys.resize(n);
  file.bytes(std::as_writable_bytes(std::span(rows.keys)), "the keys of rows");
}

const char* words_of(bool append_only) { return append_only ? "append-only" : "not append-only"; }

/// Throws where the file is about another query.
void check_identity(SavedReader& file, const SavedIdentity& expected) {
  const std::string fingerprint = file.text("the fingerprint of the query");
  const std::string sql = file.text("the text of the query");
  if (fingerprint != expected.fingerprint) {
    file.refuse("was saved by another query:\n  saved  " + sql + "\n  given  " + expected.sql);
  }
  const std::size_t columns = file.count(sizeof(std::uint64_t), "the number of columns of the schema");
  for (std::size_t c = 0; c < std::max(columns, expected.columns.size()); ++c) {
    const std::string saved = c < columns ? file.text("a column of the schema") : "no more columns";
    const std::string given = c < expected.columns.size() ? expected.columns[c] : "no more columns";
    if (saved != given) {
      file.refuse("was saved with another schema: column " + std::to_string(c) + " is " + saved +
                  ", and in the schema " + "given " + given);
    }
  }
  const std::string window = file.text("the window");
  if (window != expected.window) {
    file.refuse("was saved with another window: " + window + ", and the one given is " + expected.window);
  }
  const bool append_only = file.number<std::uint8_t>("the mark of append-only queries") != 0;
  if (append_only != expected.append_only) {
    file.refuse(std::string("was saved by a query that is ") + words_of(append_only) + ", and the one given is " +
                words_of(expected.append_only));
  }
  if (file.number<SavedKind>("the kind of its rows") != expected.kind) {
    file.refuse("has other rows than this version of the library keeps for its query; make the query anew from them");
  }
}

}  // namespace

SavedIdentity identity_of(const Query& query, const Table& schema, const StandingOptions& options, SavedKind kind) {
  SavedIdentity identity{.fingerprint = fingerprint_of(query),
                         .sql = to_sql(query),
                         .columns = {},
                         .window = words_of_window(options.window),
                         .append_only = options.append_only,
                         .kind = kind};
  for (const Column& column : schema.columns()) identity.columns.push_back(words_of_column(column));
  return identity;
}

void write_rows(const std::filesystem::path& name, const SavedIdentity& identity, const SavedNumbers& numbers,
                const std::vector<SavedPiece>& pieces, std::size_t dims, std::span<const std::uint64_t> keys) {
  SavedWriter file(name);
  file.text(identity.fingerprint);
  file.text(identity.sql);
  file.number(std::uint64_t{identity.columns.size()});
  for (const std::string& column : identity.columns) file.text(column);
  file.text(identity.window);
  file.number(std::uint8_t{identity.append_only});
  file.number(identity.kind);
  file.number(numbers.next_id);
  file.number(numbers.greatest_time);
  std::uint64_t rows = 0;
  for (const SavedPiece& piece : pieces) rows += piece.ids.size();
  file.number(rows);
  for (const SavedPiece& piece : pieces) file.numbers(piece.ids);
  for (const SavedPiece& piece : pieces) file.numbers(piece.times);
  if (identity.kind == SavedKind::skyline) {
    file.number(std::uint64_t{dims});
    file.numbers(keys);
  }
  const int columns = pieces.empty() ? 0 : pieces.front().columns.num_columns();
  file.number(static_cast<std::uint64_t>(columns));
  for (int c = 0; c < columns; ++c) {
    write_column(file, pieces, static_cast<std::size_t>(c), pieces.front().columns.column(c));
  }
  file.finish();
}

SavedRows read_rows(const std::filesystem::path& name, const SavedIdentity& identity, const SavedFormat& format) {
  SavedReader file(name);
  check_identity(file, identity);
  SavedRows rows;
  rows.numbers.next_id = file.number<RowId>("the next id");
  if (rows.numbers.next_id < 0) file.damaged("the next id is below 0");
  rows.numbers.greatest_time = file.number<Int128>("the greatest time");
  if (rows.numbers.greatest_time < kNoTime || rows.numbers.greatest_time > -kNoTime) {
    file.damaged("the greatest time is none");
  }
  // The rest takes at most as much memory as the file has bytes.
  const kernels::Charge charge(file.left());
  read_ids(file, rows);
  if (format.has_times) read_times(file, rows);
  if (identity.kind == SavedKind::skyline) read_keys(file, format.dims, rows);
  const auto columns = file.number<std::uint64_t>("the number of columns");
  const auto expected = rows.ids.empty() ? 0 : static_cast<std::uint64_t>(format.columns.num_columns());
  if (columns != expected) {
    file.damaged("it has " + std::to_string(columns) + " columns of values in place of " + std::to_string(expected));
  }
  std::vector<Column> read;
  ColumnReader reader(file, rows.ids);
  for (std::uint64_t c = 0; c < columns; ++c) read.push_back(reader.read(format.columns.column(static_cast<int>(c))));
  file.finish();
  if (rows.ids.empty()) {
    rows.columns = format.columns;
  } else {
    rows.columns = read.empty() ? Table::with_rows(static_cast<std::int64_t>(rows.ids.size())) : Table(std::move(read));
  }
  return rows;
}

}  // namespace skyrank::exec
